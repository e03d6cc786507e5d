// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package child runs this program again as another process, and calls it by lines of JSON: a command
// on its standard input, an answer on its standard output.
package child

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// The environment variables of a child: its role, and its configuration as JSON.
const (
	roleVariable   = "KINFORMER_BENCH_ROLE"
	configVariable = "KINFORMER_BENCH_CONFIG"
)

// Role is the work of a child with the config of Start, in JSON.
type Role func(ctx context.Context, config []byte) error

// Of returns the Role of a function with a typed config.
func Of[C any](run func(context.Context, C) error) Role {
	return func(ctx context.Context, config []byte) error {
		var c C
		if err := json.Unmarshal(config, &c); err != nil {
			return err
		}
		return run(ctx, c)
	}
}

// Main is the main function of a program, and of its children: it calls run, or Become. An interrupt
// ends the context.
func Main(roles map[string]Role, run func(context.Context) error) {
	Become(roles)
	exit(filepath.Base(os.Args[0]), run)
}

// Become runs the role of this process and exits, if the process is a child. Otherwise it returns.
func Become(roles map[string]Role) {
	if role := os.Getenv(roleVariable); roles[role] != nil {
		exit(role, func(ctx context.Context) error { return roles[role](ctx, []byte(os.Getenv(configVariable))) })
	}
}

// exit calls run, writes its error after a name, and exits.
func exit(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Command executes a command with an argument in JSON, which may be empty, and returns the result.
type Command func(ctx context.Context, argument json.RawMessage) (any, error)

// With returns a Command that calls a function with a typed argument.
func With[A, R any](do func(context.Context, A) (R, error)) Command {
	return func(ctx context.Context, argument json.RawMessage) (any, error) {
		var a A
		if len(argument) > 0 {
			if err := json.Unmarshal(argument, &a); err != nil {
				return nil, err
			}
		}
		return do(ctx, a)
	}
}

// Do returns a Command that calls a function without results.
func Do[A any](do func(A)) Command {
	return With(func(_ context.Context, a A) (any, error) { do(a); return nil, nil })
}

type call struct {
	Do   string          `json:"do"`
	With json.RawMessage `json:"with,omitempty"`
}

type answer struct {
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Serve answers the parent of this process with hello, and then executes its commands, one after the
// other, until they end.
func Serve(ctx context.Context, hello any, commands map[string]Command) error {
	encoder, decoder := json.NewEncoder(os.Stdout), json.NewDecoder(os.Stdin)
	for result, failed := hello, error(nil); ; {
		var a answer
		if failed != nil {
			a.Error = failed.Error()
		}
		var err error
		if a.Result, err = json.Marshal(result); err != nil {
			return fmt.Errorf("child: %w", err)
		}
		if err := encoder.Encode(a); err != nil {
			return err
		}
		var c call
		if err := decoder.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("child: %w", err)
		}
		if do, known := commands[c.Do]; known {
			result, failed = do(ctx, c.With)
		} else {
			result, failed = nil, fmt.Errorf("child: no command %q", c.Do)
		}
	}
}

// Process is a running child.
type Process struct {
	role    string
	command *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	ended   chan struct{} // closed when there are no more answers
	calls   sync.Mutex
}

// Start starts a child and waits for its first answer, which it decodes into hello. The child's
// standard error is copied to complaints.
func Start(ctx context.Context, role string, config, hello any, complaints io.Writer) (*Process, error) {
	program, err := os.Executable()
	value, err2 := json.Marshal(config)
	if err = errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	p := &Process{role: role, command: exec.CommandContext(ctx, program), answers: make(chan answer), ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), roleVariable+"="+role, configVariable+"="+string(value))
	p.command.Stderr, p.command.WaitDelay = complaints, 10*time.Second
	in, err := p.command.StdinPipe()
	out, err2 := p.command.StdoutPipe()
	if err = errors.Join(err, err2); err == nil {
		err = p.command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	p.in = in
	go p.read(out)
	if err := p.await(ctx, "start", hello); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// read passes answers on until the child's output ends.
func (p *Process) read(out io.Reader) {
	defer close(p.ended)
	for decoder := json.NewDecoder(out); ; {
		var a answer
		if decoder.Decode(&a) != nil {
			return
		}
		p.answers <- a
	}
}

// PID returns the child's process ID.
func (p *Process) PID() int { return p.command.Process.Pid }

// Call has the child execute a command, and decodes the answer into result, unless result is nil.
func (p *Process) Call(ctx context.Context, do string, with, result any) error {
	p.calls.Lock()
	defer p.calls.Unlock()
	argument, err := json.Marshal(with)
	if err == nil {
		err = json.NewEncoder(p.in).Encode(call{do, argument})
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", p.role, do, err)
	}
	return p.await(ctx, do, result)
}

// ErrEnded is returned by calls of a child that has ended.
var ErrEnded = errors.New("the process has ended")

// Ended returns ErrEnded if the child has ended, without a call.
func (p *Process) Ended() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s: %w", p.role, ErrEnded)
	default:
		return nil
	}
}

func (p *Process) await(ctx context.Context, do string, result any) (err error) {
	select {
	case a := <-p.answers:
		if a.Error != "" {
			err = errors.New(a.Error)
		} else if result != nil {
			err = json.Unmarshal(a.Result, result)
		}
	case <-p.ended:
		err = ErrEnded
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", p.role, do, err)
	}
	return nil
}

// Stop ends the child and waits for it.
func (p *Process) Stop() error {
	err := p.in.Close()
	for {
		select {
		case <-p.answers: // of a canceled call
		case <-p.ended:
			if err = errors.Join(err, p.command.Wait()); err != nil {
				return fmt.Errorf("stop %s: %w", p.role, err)
			}
			return nil
		}
	}
}
