// TCP echo and HTTP servers; both run until killed.
use tokio::io::{AsyncReadExt, AsyncWriteExt};

pub async fn echo_server(port: usize) {
    let l = tokio::net::TcpListener::bind(("127.0.0.1", port as u16)).await.unwrap();
    loop {
        let (mut s, _) = l.accept().await.unwrap();
        tokio::spawn(async move {
            s.set_nodelay(true).unwrap();
            let mut buf = [0u8; 4096];
            loop {
                match s.read(&mut buf).await {
                    Ok(0) | Err(_) => return,
                    Ok(k) => if s.write_all(&buf[..k]).await.is_err() { return },
                }
            }
        });
    }
}

pub async fn http_server(port: usize) {
    use hyper::{header, service::service_fn, Body, Response};
    let l = tokio::net::TcpListener::bind(("127.0.0.1", port as u16)).await.unwrap();
    loop {
        let (s, _) = l.accept().await.unwrap();
        tokio::spawn(async move {
            s.set_nodelay(true).unwrap();
            let svc = service_fn(|_req| async {
                Ok::<_, std::convert::Infallible>(
                    Response::builder()
                        .header(header::CONTENT_TYPE, "text/plain")
                        .body(Body::from("Hello, World!\n"))
                        .unwrap(),
                )
            });
            let _ = hyper::server::conn::Http::new().http1_only(true).serve_connection(s, svc).await;
        });
    }
}
