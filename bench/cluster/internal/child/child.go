// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package child runs this program again as another process, which is told what to do by lines of
// JSON: a command on its standard input, an answer on its standard output.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// The variables that make a program a child: its role, and what it is to be like, as JSON.
const (
	roleVariable   = "KINFORMER_CLUSTER_ROLE"
	configVariable = "KINFORMER_CLUSTER_CONFIG"
)

// Role returns what this process is to be, "" for no child, and what it is to be like.
func Role() (role string, config json.RawMessage) {
	return os.Getenv(roleVariable), json.RawMessage(os.Getenv(configVariable))
}

// Commands are what a child can be told. The argument may be null; so may what is returned.
type Commands map[string]func(ctx context.Context, argument json.RawMessage) (any, error)

type call struct {
	Do   string `json:"do"`
	With any    `json:"with,omitempty"`
}

type answer struct {
	Error  string          `json:"error,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// Serve says hello, as the answer to no command, and then does what it is told, one after the
// other, until the input ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, hello any, commands Commands) error {
	encoder := json.NewEncoder(out)
	tell := func(result any, failed error) error {
		var a answer
		if failed != nil {
			a.Error = failed.Error()
		}
		var err error
		if a.Result, err = json.Marshal(result); err != nil {
			return fmt.Errorf("child: %w", err)
		}
		return encoder.Encode(a)
	}
	if err := tell(hello, nil); err != nil {
		return err
	}
	for decoder := json.NewDecoder(bufio.NewReader(in)); ; {
		var c struct {
			Do   string          `json:"do"`
			With json.RawMessage `json:"with"`
		}
		switch err := decoder.Decode(&c); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("child: %w", err)
		}
		do, known := commands[c.Do]
		if !known {
			do = func(context.Context, json.RawMessage) (any, error) {
				return nil, fmt.Errorf("child: no command %q", c.Do)
			}
		}
		result, err := do(ctx, c.With)
		if err := tell(result, err); err != nil {
			return err
		}
	}
}

// Process is a child.
type Process struct {
	role    string
	command *exec.Cmd
	in      io.WriteCloser
	encoder *json.Encoder
	answers chan answer
	ended   chan struct{} // closed when there are no more answers
	calls   sync.Mutex
}

// Start starts a child, waits for its hello, and decodes that. What it writes to its standard error
// goes to complaints.
func Start(ctx context.Context, role string, config, hello any, complaints io.Writer, environment ...string) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	value, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	p := &Process{role: role, command: exec.CommandContext(ctx, program), answers: make(chan answer), ended: make(chan struct{})}
	p.command.Env = append(append(os.Environ(), roleVariable+"="+role, configVariable+"="+string(value)), environment...)
	p.command.Stderr = complaints
	p.command.WaitDelay = 10 * time.Second
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	p.encoder = json.NewEncoder(p.in)
	go p.read(out)
	if err := p.await(ctx, "start", hello); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// read passes answers on until the child's output ends.
func (p *Process) read(out io.Reader) {
	defer close(p.ended)
	for decoder := json.NewDecoder(bufio.NewReader(out)); ; {
		var a answer
		if decoder.Decode(&a) != nil {
			return
		}
		p.answers <- a
	}
}

// PID is the process's number.
func (p *Process) PID() int { return p.command.Process.Pid }

// Call has the child do something, and decodes what it returns, unless result is nil.
func (p *Process) Call(ctx context.Context, do string, with, result any) error {
	p.calls.Lock()
	defer p.calls.Unlock()
	if err := p.encoder.Encode(call{do, with}); err != nil {
		return fmt.Errorf("%s: %s: %w", p.role, do, err)
	}
	return p.await(ctx, do, result)
}

// ErrEnded says that a child is gone.
var ErrEnded = errors.New("the process has ended")

// Ended returns ErrEnded if the child is gone, without asking it anything.
func (p *Process) Ended() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s: %w", p.role, ErrEnded)
	default:
		return nil
	}
}

func (p *Process) await(ctx context.Context, do string, result any) error {
	select {
	case a := <-p.answers:
		switch {
		case a.Error != "":
			return fmt.Errorf("%s: %s: %s", p.role, do, a.Error)
		case result == nil:
			return nil
		}
		if err := json.Unmarshal(a.Result, result); err != nil {
			return fmt.Errorf("%s: %s: %w", p.role, do, err)
		}
		return nil
	case <-p.ended:
		return fmt.Errorf("%s: %s: %w", p.role, do, ErrEnded)
	case <-ctx.Done():
		return fmt.Errorf("%s: %s: %w", p.role, do, context.Cause(ctx))
	}
}

// Stop ends the child and waits for it.
func (p *Process) Stop() error {
	err := p.in.Close()
	for {
		select {
		case <-p.answers: // to a call that was given up
		case <-p.ended:
			if err = errors.Join(err, p.command.Wait()); err != nil {
				return fmt.Errorf("stop %s: %w", p.role, err)
			}
			return nil
		}
	}
}
