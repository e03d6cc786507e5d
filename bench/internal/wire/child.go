// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
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

// serve serves on a free port of the loopback interface, which it writes to
// out, until in ends.
func serve(c Config, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	handler, err := newHandler(ctx, c)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("wire: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if _, err := fmt.Fprintln(out, listener.Addr()); err != nil {
		return errors.Join(fmt.Errorf("wire: tell the address: %w", err), server.Close())
	}
	_, err = io.Copy(io.Discard, in)
	err = errors.Join(err, server.Close())
	<-ended // http.ErrServerClosed
	return err
}

// Server is a server in a child process.
type Server struct {
	// URL is where it is, without a slash at the end.
	URL string

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
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wire: the server tells no address: %w", err), s.Stop())
	}
	s.URL = "http://" + strings.TrimSpace(address)
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

func (s *Server) do(ctx context.Context, method, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.URL+path, nil)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
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
