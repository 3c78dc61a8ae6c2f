// What is measured and how a line is printed.
use std::future::Future;
use std::time::Instant;

pub struct Ctx {
    pub bench: String,
    pub workers: usize,
    pub ct: bool,
}

pub fn cpu_ms() -> f64 {
    unsafe {
        let mut ru: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut ru);
        (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) as f64 * 1e3
            + (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) as f64 / 1e3
    }
}

impl Ctx {
    pub fn emit(&self, metric: &str, value: f64, n: usize, cpu: f64, extra: &[(&str, f64)]) {
        let more: String = extra.iter().map(|(name, v)| format!(",\"{name}\":{v:.3}")).collect();
        println!(
            "{{\"peer\":\"{}\",\"bench\":\"{}\",\"workers\":{},\"metric\":\"{}\",\"value\":{:.3},\"n\":{},\"cpu_ms\":{:.1}{}}}",
            if self.ct { "tokio-ct" } else { "tokio" },
            self.bench, self.workers, metric, value, n, cpu, more
        );
    }
    pub async fn per_op<F: Future<Output = ()>>(&self, n: usize, ops: usize, f: F) {
        let c0 = cpu_ms();
        let t = Instant::now();
        f.await;
        let ns = t.elapsed().as_nanos() as f64;
        self.emit("ns_per_op", ns / ops as f64, n, cpu_ms() - c0, &[]);
    }
    // The result is checked by the caller, after the clock has stopped.
    pub async fn total<T, F: Future<Output = T>>(&self, n: usize, f: F) -> T {
        let c0 = cpu_ms();
        let t = Instant::now();
        let result = f.await;
        let ns = t.elapsed().as_nanos() as f64;
        self.emit("ms", ns / 1e6, n, cpu_ms() - c0, &[]);
        result
    }
}

fn proc_bytes(file: &str, key: &str) -> f64 {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find(|l| l.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() * 1024.0
}

// Bytes: resident, in page tables, available on the machine.
pub struct Memory {
    pub rss: f64,
    pub tables: f64,
    pub available: f64,
}

impl Memory {
    pub fn now() -> Memory {
        let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
        let pages: f64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
        Memory {
            rss: pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64,
            tables: proc_bytes("/proc/self/status", "VmPTE:"),
            available: proc_bytes("/proc/meminfo", "MemAvailable:"),
        }
    }
}
