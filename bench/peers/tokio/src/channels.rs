// Tasks with channels: ping-pong, buffered, skynet, select, ring, sieve.
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::{mpsc, Mutex, Notify};

pub async fn pingpong(n: usize) {
    let (a, mut ar) = mpsc::channel::<usize>(1);
    let (b, mut br) = mpsc::channel::<usize>(1);
    tokio::spawn(async move {
        while let Some(v) = ar.recv().await {
            if b.send(v).await.is_err() { break }
        }
    });
    for i in 0..n {
        a.send(i).await.unwrap();
        br.recv().await.unwrap();
    }
}

pub async fn pingpong_flume(n: usize) {
    let (a, ar) = flume::bounded::<usize>(0);
    let (b, br) = flume::bounded::<usize>(0);
    tokio::spawn(async move {
        while let Ok(v) = ar.recv_async().await {
            if b.send_async(v).await.is_err() { break }
        }
    });
    for i in 0..n {
        a.send_async(i).await.unwrap();
        br.recv_async().await.unwrap();
    }
}

pub async fn spsc(n: usize) {
    let (tx, mut rx) = mpsc::channel::<usize>(128);
    tokio::spawn(async move { for i in 0..n { tx.send(i).await.unwrap() } });
    let h = tokio::spawn(async move {
        let mut s = 0usize;
        while let Some(v) = rx.recv().await { s += v }
        s
    });
    assert_eq!(h.await.unwrap(), n * (n - 1) / 2);
}

pub async fn spsc_flume(n: usize) {
    let (tx, rx) = flume::bounded::<usize>(128);
    tokio::spawn(async move { for i in 0..n { tx.send_async(i).await.unwrap() } });
    let h = tokio::spawn(async move {
        let mut s = 0usize;
        while let Ok(v) = rx.recv_async().await { s += v }
        s
    });
    assert_eq!(h.await.unwrap(), n * (n - 1) / 2);
}

// tokio has no MPMC channel, so the usual pattern: mpsc receiver behind a tokio Mutex
pub async fn mpmc(n: usize) {
    let (tx, rx) = mpsc::channel::<usize>(128);
    let rx = Arc::new(Mutex::new(rx));
    for _ in 0..4 {
        let tx = tx.clone();
        tokio::spawn(async move { for _ in 0..n / 4 { tx.send(1).await.unwrap() } });
    }
    drop(tx);
    let mut hs = vec![];
    for _ in 0..4 {
        let rx = rx.clone();
        hs.push(tokio::spawn(async move {
            let mut s = 0usize;
            loop {
                let v = rx.lock().await.recv().await;
                match v { Some(v) => s += v, None => return s }
            }
        }));
    }
    let mut s = 0;
    for h in hs { s += h.await.unwrap() }
    assert_eq!(s, n);
}

pub async fn mpmc_flume(n: usize) {
    let (tx, rx) = flume::bounded::<usize>(128);
    for _ in 0..4 {
        let tx = tx.clone();
        tokio::spawn(async move { for _ in 0..n / 4 { tx.send_async(1).await.unwrap() } });
    }
    drop(tx);
    let mut hs = vec![];
    for _ in 0..4 {
        let rx = rx.clone();
        hs.push(tokio::spawn(async move {
            let mut s = 0usize;
            while let Ok(v) = rx.recv_async().await { s += v }
            s
        }));
    }
    let mut s = 0;
    for h in hs { s += h.await.unwrap() }
    assert_eq!(s, n);
}

fn skynet(out: mpsc::Sender<usize>, num: usize, size: usize) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if size == 1 {
            out.send(num).await.unwrap();
            return;
        }
        let (tx, mut rx) = mpsc::channel::<usize>(1);
        for i in 0..10 {
            tokio::spawn(skynet(tx.clone(), num + i * (size / 10), size / 10));
        }
        let mut s = 0;
        for _ in 0..10 { s += rx.recv().await.unwrap() }
        out.send(s).await.unwrap();
    })
}

pub async fn skynet_bench(n: usize) -> usize {
    let (tx, mut rx) = mpsc::channel(1);
    tokio::spawn(skynet(tx, 0, n));
    rx.recv().await.unwrap()
}

pub async fn select_bench(n: usize) {
    let mut rxs = vec![];
    for _ in 0..4 {
        let (tx, rx) = mpsc::channel::<usize>(1);
        tokio::spawn(async move { for _ in 0..n / 4 { if tx.send(1).await.is_err() { break } } });
        rxs.push(rx);
    }
    let mut r3 = rxs.pop().unwrap();
    let mut r2 = rxs.pop().unwrap();
    let mut r1 = rxs.pop().unwrap();
    let mut r0 = rxs.pop().unwrap();
    let mut s = 0;
    for _ in 0..n {
        s += tokio::select! {
            Some(v) = r0.recv() => v,
            Some(v) = r1.recv() => v,
            Some(v) = r2.recv() => v,
            Some(v) = r3.recv() => v,
            else => 0,
        };
    }
    assert_eq!(s, n);
}

pub async fn ring(hops: usize) {
    let k = 1000;
    let mut txs = vec![];
    let mut rxs = vec![];
    for _ in 0..k {
        let (tx, rx) = mpsc::channel::<usize>(1);
        txs.push(tx);
        rxs.push(rx);
    }
    let done = Arc::new(Notify::new());
    for (i, mut rx) in rxs.into_iter().enumerate() {
        let out = txs[(i + 1) % k].clone();
        let done = done.clone();
        tokio::spawn(async move {
            while let Some(v) = rx.recv().await {
                if v == 0 { done.notify_one(); return }
                let _ = out.send(v - 1).await;
            }
        });
    }
    txs[0].send(hops).await.unwrap();
    done.notified().await;
}

pub async fn sieve(n: usize) -> usize {
    let (tx, mut rx) = mpsc::channel::<usize>(1);
    tokio::spawn(async move {
        let mut i = 2;
        while tx.send(i).await.is_ok() { i += 1 }
    });
    let mut last = 0;
    for _ in 0..n {
        let p = rx.recv().await.unwrap();
        last = p;
        let (tx, next) = mpsc::channel::<usize>(1);
        tokio::spawn(async move {
            while let Some(v) = rx.recv().await {
                if v % p != 0 && tx.send(v).await.is_err() { return }
            }
        });
        rx = next;
    }
    last
}
