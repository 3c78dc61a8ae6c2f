// Goroutines with channels: ping-pong, buffered, skynet, select, ring, sieve.
package main

import "sync"

func pingpong(n int) {
	a, b := make(chan int), make(chan int)
	go func() {
		for i := 0; i < n; i++ {
			b <- <-a
		}
	}()
	for i := 0; i < n; i++ {
		a <- i
		<-b
	}
}

func spsc(n int) {
	c := make(chan int, 128)
	done := make(chan int)
	go func() {
		s := 0
		for v := range c {
			s += v
		}
		done <- s
	}()
	go func() {
		for i := 0; i < n; i++ {
			c <- i
		}
		close(c)
	}()
	if got := <-done; got != n*(n-1)/2 {
		panic("bad sum")
	}
}

func mpmc(n int) {
	c := make(chan int, 128)
	done := make(chan int)
	var wg sync.WaitGroup
	for p := 0; p < 4; p++ {
		wg.Add(1)
		go func() {
			for i := 0; i < n/4; i++ {
				c <- 1
			}
			wg.Done()
		}()
		go func() {
			s := 0
			for v := range c {
				s += v
			}
			done <- s
		}()
	}
	wg.Wait()
	close(c)
	s := 0
	for p := 0; p < 4; p++ {
		s += <-done
	}
	if s != n {
		panic("bad count")
	}
}

func skynet(out chan int, num, size, div int) {
	if size == 1 {
		out <- num
		return
	}
	rc := make(chan int)
	for i := 0; i < div; i++ {
		go skynet(rc, num+i*(size/div), size/div, div)
	}
	s := 0
	for i := 0; i < div; i++ {
		s += <-rc
	}
	out <- s
}

func skynetBench(n int) func() bool {
	c := make(chan int)
	go skynet(c, 0, n, 10)
	sum := <-c
	return func() bool { return sum == n*(n-1)/2 }
}

func selectBench(n int) {
	var c [4]chan int
	for i := range c {
		c[i] = make(chan int)
		go func(ch chan int) {
			for j := 0; j < n/4; j++ {
				ch <- 1
			}
		}(c[i])
	}
	s := 0
	for i := 0; i < n; i++ {
		select {
		case v := <-c[0]:
			s += v
		case v := <-c[1]:
			s += v
		case v := <-c[2]:
			s += v
		case v := <-c[3]:
			s += v
		}
	}
	if s != n {
		panic("bad count")
	}
}

func ring(hops int) {
	const k = 1000
	cs := make([]chan int, k)
	for i := range cs {
		cs[i] = make(chan int)
	}
	done := make(chan int)
	for i := 0; i < k; i++ {
		go func(in, out chan int) {
			for v := range in {
				if v == 0 {
					done <- 0
					return
				}
				out <- v - 1
			}
		}(cs[i], cs[(i+1)%k])
	}
	cs[0] <- hops
	<-done
}

func sieve(n int) func() bool {
	ch := make(chan int)
	go func(out chan<- int) {
		for i := 2; ; i++ {
			out <- i
		}
	}(ch)
	last := 0
	for i := 0; i < n; i++ {
		prime := <-ch
		last = prime
		next := make(chan int)
		go func(in <-chan int, out chan<- int) {
			for {
				if v := <-in; v%prime != 0 {
					out <- v
				}
			}
		}(ch, next)
		ch = next
	}
	return func() bool { return n != 2000 || last == 17389 }
}
