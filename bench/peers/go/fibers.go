// Goroutines without channels: yield, spawn, fib, mutex, parked memory, timers.
package main

import (
	"math/rand"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

func yieldBench(n int) {
	var wg sync.WaitGroup
	wg.Add(2)
	for i := 0; i < 2; i++ {
		go func() {
			for j := 0; j < n; j++ {
				runtime.Gosched()
			}
			wg.Done()
		}()
	}
	wg.Wait()
}

func spawnJoin(n int) {
	for b := 0; b < n/1000; b++ {
		var wg sync.WaitGroup
		wg.Add(1000)
		for i := 0; i < 1000; i++ {
			go wg.Done()
		}
		wg.Wait()
	}
}

func fibSeq(n int) int {
	if n < 2 {
		return n
	}
	return fibSeq(n-1) + fibSeq(n-2)
}

func fib(n, cutoff int) int {
	if n < cutoff {
		return fibSeq(n)
	}
	var wg sync.WaitGroup
	wg.Add(1)
	var a int
	go func() {
		a = fib(n-1, cutoff)
		wg.Done()
	}()
	b := fib(n-2, cutoff)
	wg.Wait()
	return a + b
}

func fibBench(n, cutoff int) func() bool {
	result := fib(n, cutoff)
	return func() bool { return result == fibSeq(n) }
}

func mutexBench(n int, yieldInside bool) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	count := 0
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func() {
			for j := 0; j < n/8; j++ {
				mu.Lock()
				count++
				if yieldInside {
					runtime.Gosched()
				}
				mu.Unlock()
			}
			wg.Done()
		}()
	}
	wg.Wait()
	if count != n {
		panic("bad count")
	}
}

func mutexUncontended(n int) {
	var mu sync.Mutex
	for i := 0; i < n; i++ {
		mu.Lock()
		mu.Unlock()
	}
}

// The number after key in a file of /proc, times 1024.
func procBytes(file, key string) float64 {
	text, _ := os.ReadFile(file)
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, key) {
			v, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)
			return v * 1024
		}
	}
	return 0
}

func rss() float64 {
	text, _ := os.ReadFile("/proc/self/statm")
	v, _ := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	return v * float64(os.Getpagesize())
}

func pageTables() float64 { return procBytes("/proc/self/status", "VmPTE:") }
func available() float64  { return procBytes("/proc/meminfo", "MemAvailable:") }

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

func memBench(n int) {
	rss0, tables0, free0 := rss(), pageTables(), available()
	gate := make(chan struct{})
	var up, wg sync.WaitGroup
	up.Add(n)
	wg.Add(n)
	cpu := cpuMs()
	start := time.Now()
	for i := 0; i < n; i++ {
		go func() {
			up.Done()
			<-gate
			wg.Done()
		}()
	}
	up.Wait()
	create := time.Since(start)
	time.Sleep(20 * time.Millisecond) // let the last ones park
	fibers := float64(n)
	perFiber, tables, free := (rss()-rss0)/fibers, (pageTables()-tables0)/fibers, (free0-available())/fibers
	start = time.Now()
	close(gate)
	wg.Wait()
	wake := time.Since(start)
	emit("bytes_per_fiber", perFiber, n, cpuMs()-cpu, fields{
		"page_table_bytes_per_fiber": tables, "total_bytes_per_fiber": perFiber + tables,
		"create_ms": ms(create), "wake_all_ms": ms(wake), "avail_bytes_per_fiber": free})
}

func timersBench(n int) {
	late := make([]int64, n)
	rng := rand.New(rand.NewSource(time.Now().UnixNano()))
	var wg sync.WaitGroup
	wg.Add(n)
	cpu := cpuMs()
	start := time.Now()
	for i := 0; i < n; i++ {
		d := time.Duration(1000+rng.Intn(99001)) * time.Microsecond
		go func(i int) {
			asleep := time.Now()
			time.Sleep(d)
			late[i] = int64(time.Since(asleep) - d)
			wg.Done()
		}(i)
	}
	wg.Wait()
	elapsed := time.Since(start)
	cpu = cpuMs() - cpu
	sort.Slice(late, func(a, b int) bool { return late[a] < late[b] })
	emit("late_p50_us", float64(late[n/2])/1e3, n, cpu, fields{
		"late_p99_us": float64(late[n*99/100]) / 1e3, "late_max_us": float64(late[n-1]) / 1e3, "elapsed_ms": ms(elapsed)})
}
