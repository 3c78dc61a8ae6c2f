// Tokio peer: `tokio_bench <bench> <workers> [n] [mt|ct]` runs one repetition, prints one JSON line.
// mt = multi_thread runtime (default), ct = current_thread runtime (workers must be 1).
// Tokio has no rendezvous channel: mpsc::channel(1) stands in for it; *_flume variants use
// flume::bounded(0), a true rendezvous channel with an async API.
mod channels;
mod net;
mod probe;
mod tasks;

use probe::Ctx;
use std::sync::Arc;

async fn run(c: Arc<Ctx>, arg: usize) {
    use {channels::*, net::*, tasks::*};
    let d = |usual: usize| if arg == 0 { usual } else { arg };
    let million = d(1_000_000);
    match c.bench.as_str() {
        "yield" => { let n = d(2_000_000); c.per_op(n, 2 * n, yield_bench(n)).await }
        "spawn_join" => c.per_op(million, million, spawn_join(million)).await,
        "pingpong_unbuf" => c.per_op(million, million, pingpong(million)).await,
        "pingpong_flume" => c.per_op(million, million, pingpong_flume(million)).await,
        "chan_buf_spsc" => { let n = d(10_000_000); c.per_op(n, n, spsc(n)).await }
        "chan_buf_spsc_flume" => { let n = d(10_000_000); c.per_op(n, n, spsc_flume(n)).await }
        "chan_mpmc" => { let n = d(4_000_000); c.per_op(n, n, mpmc(n)).await }
        "chan_mpmc_flume" => { let n = d(4_000_000); c.per_op(n, n, mpmc_flume(n)).await }
        "select" => c.per_op(million, million, select_bench(million)).await,
        "ring" => c.per_op(million, million, ring(million)).await,
        "mutex" => c.per_op(million, million, mutex_bench(million, false)).await,
        "mutex_handoff" => c.per_op(million, million, mutex_bench(million, true)).await,
        "mutex_uncontended" => { let n = d(20_000_000); c.per_op(n, n, mutex_uncontended(n)).await }
        "skynet" => {
            let sum = c.total(million, skynet_bench(million)).await;
            assert_eq!(sum, million * (million - 1) / 2);
        }
        "fib30" => { let n = d(30); assert_eq!(c.total(n, fib(n, 2)).await, fib_seq(n)) }
        "fib30_cut12" => { let n = d(30); assert_eq!(c.total(n, fib(n, 12)).await, fib_seq(n)) }
        "fib30_seq" => { let n = d(30); assert!(c.total(n, async { fib_seq(n) }).await > 0) }
        "sieve" => { let n = d(2_000); let last = c.total(n, sieve(n)).await; assert!(n != 2_000 || last == 17389) }
        "mem" => mem_bench(&c, million).await,
        "timers" => timers_bench(&c, d(100_000)).await,
        "tcp_echo_server" => echo_server(arg).await,
        "http_server" => http_server(arg).await,
        other => { eprintln!("unknown bench {other}"); std::process::exit(2) }
    }
}

fn bad(why: &str) -> ! {
    eprintln!("{why}\nusage: tokio_bench <bench> <workers> [n] [mt|ct]");
    std::process::exit(2)
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    if a.len() < 3 || a.len() > 5 { bad("two to four arguments wanted") }
    let workers: usize = a[2].parse().unwrap_or(0);
    if workers == 0 { bad("workers must be a number of at least 1") }
    let arg: usize = a.get(3).map(|s| s.parse().unwrap_or_else(|_| bad("n must be a number"))).unwrap_or(0);
    let ct = match a.get(4).map(String::as_str) {
        None | Some("mt") => false,
        Some("ct") if workers == 1 => true,
        _ => bad("the runtime is mt, or ct with one worker"),
    };
    let rt = if ct {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    } else {
        tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
    };
    let c = Arc::new(Ctx { bench: a[1].clone(), workers, ct });
    rt.block_on(async move { tokio::spawn(run(c, arg)).await.unwrap() });
    std::process::exit(0); // skip teardown of tasks that still run
}
