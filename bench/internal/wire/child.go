// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// environment is the variable that makes a program a server; its value is a
// Config.
const environment = "KINFORMER_BENCH_SERVER"

// ServeIfChild serves until the standard input ends, if this process was
// started by Start, and says whether it was. A program that uses Start calls
// this first.
func ServeIfChild() (child bool, err error) {
	value, child := os.LookupEnv(environment)
	if !child {
		return false, nil
	}
	var c Config
	if err := json.Unmarshal([]byte(value), &c); err != nil {
		return true, fmt.Errorf("wire: %s: %w", environment, err)
	}
	return true, serve(c, os.Stdin, os.Stdout)
}

// greeting is what a server says first, as a line of JSON.
type greeting struct {
	URL string `json:"url"`
	// CA is the certificate that clients trust, in PEM, if the server has one.
	CA []byte `json:"ca,omitempty"`
}

// serve serves on a free port of the loopback interface, of which it writes a
// greeting to out, until in ends.
func serve(c Config, in io.Reader, out io.Writer) error {
	handler, err := newHandler(c)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("wire: %w", err)
	}
	hello := greeting{URL: "http://" + listener.Addr().String()}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	if c.Narrow {
		listener = narrow{listener}
	}
	listen := func() error { return server.Serve(listener) }
	if c.TLS {
		hello.URL = "https://" + listener.Addr().String()
		if server.TLSConfig, hello.CA, err = Certified(); err != nil {
			return errors.Join(err, listener.Close())
		}
		listen = func() error { return server.ServeTLS(listener, "", "") }
	}
	ended := make(chan error, 1)
	go func() { ended <- listen() }()
	if err := json.NewEncoder(out).Encode(hello); err != nil {
		return errors.Join(fmt.Errorf("wire: tell the address: %w", err), server.Close())
	}
	_, err = io.Copy(io.Discard, in)
	err = errors.Join(err, server.Close())
	<-ended // http.ErrServerClosed
	return err
}

// narrowBytes is how much of an answer the kernel holds for a connection of a
// narrow server; clients that want to know what that does have as little.
const narrowBytes = 256 << 10

// narrow is a listener whose connections have small buffers.
type narrow struct{ net.Listener }

// Accept accepts a connection.
func (n narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(narrowBytes)
	}
	return c, err
}

// DialNarrow dials as a client of a narrow server does.
func DialNarrow(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err == nil {
		err = c.(*net.TCPConn).SetReadBuffer(narrowBytes)
	}
	return c, err
}

// Server is a server in a child process.
type Server struct {
	// URL is where it is, without a slash at the end, and CA the certificate that
	// clients trust, in PEM, if it has one.
	URL string
	CA  []byte

	command  *exec.Cmd
	lifeline io.Closer
}

// Start runs this program again as a server, and returns when it is ready.
func Start(ctx context.Context, c Config) (*Server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	value, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	command := exec.CommandContext(ctx, program)
	command.Env = append(os.Environ(), environment+"="+string(value))
	command.Stderr = os.Stderr
	lifeline, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("wire: start the server: %w", err)
	}
	s := &Server{command: command, lifeline: lifeline}
	var hello greeting
	if err := json.NewDecoder(out).Decode(&hello); err != nil {
		return nil, errors.Join(fmt.Errorf("wire: the server tells no address: %w", err), s.Stop())
	}
	s.URL, s.CA = hello.URL, hello.CA
	return s, nil
}

// Stop ends the process.
func (s *Server) Stop() error {
	if err := errors.Join(s.lifeline.Close(), s.command.Wait()); err != nil {
		return fmt.Errorf("wire: stop the server: %w", err)
	}
	return nil
}

// Feed makes the server send its updates through the watch that was opened
// last, and returns when they are sent.
func (s *Server) Feed(ctx context.Context) error {
	_, err := s.do(ctx, http.MethodPost, "/feed")
	return err
}

// Bytes returns an answer as it is sent: "list", "initial" or "updates".
func (s *Server) Bytes(ctx context.Context, name string) ([]byte, error) {
	return s.do(ctx, http.MethodGet, "/bytes/"+name)
}

// Open returns how long the server has had lists open, from the request to the
// last byte that it could send, since it was last asked.
func (s *Server) Open(ctx context.Context) (time.Duration, error) {
	text, err := s.do(ctx, http.MethodPost, "/open")
	if err != nil {
		return 0, err
	}
	nanoseconds, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("wire: %w", err)
	}
	return time.Duration(nanoseconds), nil
}

func (s *Server) do(ctx context.Context, method, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.URL+path, nil)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	client, err := s.client()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	body, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("wire: %s %s: %s: %s", method, path, response.Status, body)
	}
	return body, err
}

func (s *Server) client() (*http.Client, error) {
	transport := &http.Transport{}
	if len(s.CA) > 0 {
		trusted := x509.NewCertPool()
		if !trusted.AppendCertsFromPEM(s.CA) {
			return nil, errors.New("wire: the server's certificate cannot be read")
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: trusted}
	}
	return &http.Client{Transport: transport}, nil
}
