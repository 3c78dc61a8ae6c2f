// Go peer: `go_bench <bench> <workers> [n]` runs one repetition and prints one JSON line.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"syscall"
	"time"
)

var workers int
var benchName string

func cpuMs() float64 {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return float64(ru.Utime.Sec+ru.Stime.Sec)*1e3 + float64(ru.Utime.Usec+ru.Stime.Usec)/1e3
}

type fields map[string]any

func emit(metric string, value float64, n int, cpu float64, extra fields) {
	line := fields{"peer": "go", "bench": benchName, "workers": workers, "metric": metric, "value": value, "n": n, "cpu_ms": cpu}
	for k, v := range extra {
		line[k] = v
	}
	text, _ := json.Marshal(line)
	fmt.Println(string(text))
}

func timed(f func()) (ns float64, cpu float64) {
	before := cpuMs()
	start := time.Now()
	f()
	ns = float64(time.Since(start).Nanoseconds())
	return ns, cpuMs() - before
}

// One benchmark: its usual count and what it does with it.
type bench struct {
	usual int
	run   func(n int)
}

// Nanoseconds per operation; f does opsPerN operations for each n.
func perOp(usual, opsPerN int, f func(n int)) bench {
	return bench{usual, func(n int) {
		ns, cpu := timed(func() { f(n) })
		emit("ns_per_op", ns/float64(n*opsPerN), n, cpu, nil)
	}}
}

// Milliseconds for the whole; f returns a check that is made after the clock has stopped.
func totalMs(usual int, f func(n int) func() bool) bench {
	return bench{usual, func(n int) {
		var check func() bool
		ns, cpu := timed(func() { check = f(n) })
		if !check() {
			panic("wrong result")
		}
		emit("ms", ns/1e6, n, cpu, nil)
	}}
}

var benches = map[string]bench{
	"yield":             perOp(2000000, 2, yieldBench),
	"spawn_join":        perOp(1000000, 1, spawnJoin),
	"pingpong_unbuf":    perOp(1000000, 1, pingpong),
	"chan_buf_spsc":     perOp(10000000, 1, spsc),
	"chan_mpmc":         perOp(4000000, 1, mpmc),
	"select":            perOp(1000000, 1, selectBench),
	"ring":              perOp(1000000, 1, ring),
	"mutex":             perOp(1000000, 1, func(n int) { mutexBench(n, false) }),
	"mutex_handoff":     perOp(1000000, 1, func(n int) { mutexBench(n, true) }),
	"mutex_uncontended": perOp(20000000, 1, mutexUncontended),
	"skynet":            totalMs(1000000, skynetBench),
	"fib30":             totalMs(30, func(n int) func() bool { return fibBench(n, 2) }),
	"fib30_cut12":       totalMs(30, func(n int) func() bool { return fibBench(n, 12) }),
	"fib30_seq":         totalMs(30, func(n int) func() bool { return fibBench(n, n+1) }),
	"sieve":             totalMs(2000, sieve),
	"mem":               {1000000, memBench},
	"timers":            {100000, timersBench},
	"tcp_echo_server":   {0, echoServer}, // n is the port
	"http_server":       {0, httpServer},
}

func usage(why string) {
	fmt.Fprintf(os.Stderr, "%s\nusage: %s <bench> <workers> [n]\nbenches:", why, os.Args[0])
	names := []string{}
	for name := range benches {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprint(os.Stderr, " ", name)
	}
	fmt.Fprintln(os.Stderr)
	os.Exit(2)
}

func main() {
	if len(os.Args) < 3 || len(os.Args) > 4 {
		usage("two or three arguments wanted")
	}
	benchName = os.Args[1]
	chosen, known := benches[benchName]
	if !known {
		usage("unknown bench '" + benchName + "'")
	}
	var err error
	if workers, err = strconv.Atoi(os.Args[2]); err != nil || workers < 1 {
		usage("workers must be a number of at least 1")
	}
	n := 0
	if len(os.Args) > 3 {
		if n, err = strconv.Atoi(os.Args[3]); err != nil || n < 0 {
			usage("n must be a number of at least 0")
		}
	}
	if n == 0 {
		n = chosen.usual
	}
	runtime.GOMAXPROCS(workers)
	debug.SetMaxThreads(20000)
	chosen.run(n)
}
