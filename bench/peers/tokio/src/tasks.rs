// Tasks without channels: yield, spawn, fib, mutex, parked memory, timers.
use crate::probe::{cpu_ms, Ctx, Memory};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Notify, Semaphore};

pub async fn yield_bench(n: usize) {
    let mk = || tokio::spawn(async move { for _ in 0..n { tokio::task::yield_now().await } });
    let (a, b) = (mk(), mk());
    a.await.unwrap();
    b.await.unwrap();
}

pub async fn spawn_join(n: usize) {
    let mut hs = Vec::with_capacity(1000);
    for _ in 0..n / 1000 {
        for _ in 0..1000 {
            hs.push(tokio::spawn(async {}));
        }
        for h in hs.drain(..) {
            h.await.unwrap();
        }
    }
}

pub fn fib_seq(n: usize) -> usize {
    if n < 2 { n } else { fib_seq(std::hint::black_box(n - 1)) + fib_seq(std::hint::black_box(n - 2)) }
}

pub fn fib(n: usize, cutoff: usize) -> Pin<Box<dyn Future<Output = usize> + Send>> {
    Box::pin(async move {
        if n < cutoff { return fib_seq(n) }
        let h = tokio::spawn(fib(n - 1, cutoff));
        let b = fib(n - 2, cutoff).await;
        h.await.unwrap() + b
    })
}

pub async fn mutex_bench(n: usize, hold: bool) {
    let m = Arc::new(Mutex::new(0usize));
    let mut hs = vec![];
    for _ in 0..8 {
        let m = m.clone();
        hs.push(tokio::spawn(async move {
            for _ in 0..n / 8 {
                let mut g = m.lock().await;
                *g += 1;
                if hold { tokio::task::yield_now().await }
            }
        }));
    }
    for h in hs { h.await.unwrap() }
    assert_eq!(*m.lock().await, n);
}

pub async fn mutex_uncontended(n: usize) {
    let m = Mutex::new(0usize);
    for _ in 0..n { *m.lock().await += 1 }
    assert_eq!(*m.lock().await, n);
}

pub async fn mem_bench(c: &Ctx, n: usize) {
    let before = Memory::now();
    let gate = Arc::new(Semaphore::new(0)); // closed to release everyone
    let up = Arc::new(Notify::new());
    let cnt = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let done = Arc::new(Semaphore::new(0));
    let c0 = cpu_ms();
    let t = Instant::now();
    for _ in 0..n {
        let (gate, up, cnt, done) = (gate.clone(), up.clone(), cnt.clone(), done.clone());
        tokio::spawn(async move {
            if cnt.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1 == n { up.notify_one() }
            let _ = gate.acquire().await;
            done.add_permits(1);
        });
    }
    up.notified().await;
    let create = t.elapsed();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let parked = Memory::now();
    let t = Instant::now();
    gate.close();
    let _ = done.acquire_many(n as u32).await.unwrap();
    let wake = t.elapsed();
    let per = |bytes: f64| bytes / n as f64;
    let (rss, tables) = (per(parked.rss - before.rss), per(parked.tables - before.tables));
    c.emit("bytes_per_fiber", rss, n, cpu_ms() - c0, &[
        ("page_table_bytes_per_fiber", tables),
        ("total_bytes_per_fiber", rss + tables),
        ("create_ms", create.as_secs_f64() * 1e3),
        ("wake_all_ms", wake.as_secs_f64() * 1e3),
        ("avail_bytes_per_fiber", per(before.available - parked.available)),
    ]);
}

pub async fn timers_bench(c: &Ctx, n: usize) {
    let mut hs = Vec::with_capacity(n);
    let mut x: u64 = 0x9E3779B97F4A7C15 ^ std::process::id() as u64;
    let c0 = cpu_ms();
    let t = Instant::now();
    for _ in 0..n {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        let d = Duration::from_micros(1000 + x % 99001);
        hs.push(tokio::spawn(async move {
            let s = Instant::now();
            tokio::time::sleep(d).await;
            s.elapsed().as_nanos() as i64 - d.as_nanos() as i64
        }));
    }
    let mut late = Vec::with_capacity(n);
    for h in hs { late.push(h.await.unwrap()) }
    let el = t.elapsed();
    let cpu = cpu_ms() - c0;
    late.sort_unstable();
    c.emit("late_p50_us", late[n / 2] as f64 / 1e3, n, cpu, &[
        ("late_p99_us", late[n * 99 / 100] as f64 / 1e3),
        ("late_max_us", late[n - 1] as f64 / 1e3),
        ("elapsed_ms", el.as_secs_f64() * 1e3),
    ]);
}
