// TCP echo and HTTP servers; both run until killed.
package main

import (
	"fmt"
	"net"
	"net/http"
)

func echoServer(port int) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		panic(err)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go echo(conn)
	}
}

func echo(conn net.Conn) {
	defer conn.Close()
	buf := make([]byte, 4096)
	for {
		k, err := conn.Read(buf)
		if err != nil {
			return
		}
		if _, err = conn.Write(buf[:k]); err != nil {
			return
		}
	}
}

func httpServer(port int) {
	body := []byte("Hello, World!\n")
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(body)
	})
	panic(http.ListenAndServe(fmt.Sprintf("127.0.0.1:%d", port), nil))
}
