package statuspage

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// ErrAddress is returned for an address that cannot be listened on, or must not be.
var ErrAddress = errors.New("bad address")

// Listen listens on host:port. Without a host that is 127.0.0.1. Where loopbackOnly is set other
// hosts are refused.
func Listen(addr string, loopbackOnly bool) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w %q: not host:port", ErrAddress, addr)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	if loopbackOnly && !isLoopback(host) {
		return nil, fmt.Errorf("%w %q: not a loopback address, and nobody else may see this",
			ErrAddress, addr)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrAddress, addr, err)
	}
	return l, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Limits of a server: nobody but a person or a scraper is at the other end.
const (
	headerTimeout = 5 * time.Second
	writeTimeout  = 2 * time.Minute // a profile of a minute, and some
	idleTimeout   = time.Minute
	headerBytes   = 16 << 10
)

// Serve serves h on l until the returned function is called.
func Serve(l net.Listener, h http.Handler) (stop func()) {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytes,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l) // ErrServerClosed
	}()
	return func() {
		_ = s.Close() // what is being read is not worth a wait
		<-ended
	}
}
