package external

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
)

type process struct {
	cmd    *exec.Cmd
	ctx    context.Context
	cancel context.CancelFunc
	stdout io.Reader
	stderr tail
	idle   time.Duration
	wait   func() error // waits for the program to exit and returns its error
}

// A pipe is a program's output. Reads fail after the idle timeout.
type pipe struct {
	io.Reader
	idle time.Duration
}

func (p *pipe) Read(b []byte) (int, error) {
	if f, ok := p.Reader.(interface{ SetReadDeadline(time.Time) error }); ok && p.idle > 0 {
		f.SetReadDeadline(time.Now().Add(p.idle))
	}
	n, err := p.Reader.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fetch.ErrNetwork.Retryf("the external driver sent nothing for %v", p.idle)
	}
	return n, err
}

// killDelay limits the wait for output of the program's children after the program has exited.
const killDelay = time.Second

// start starts a program for req. It is killed, together with its children, when ctx is done or the
// process is closed.
func start(ctx context.Context, program string, req *fetch.Request, idle time.Duration) (*process, error) {
	args := command(program, req)
	p := &process{ctx: ctx}
	run, cancel := context.WithCancel(ctx)
	p.cancel = cancel
	p.cmd = exec.CommandContext(run, args[0], args[1:]...)
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = killDelay
	p.cmd.Env = os.Environ()
	if password, ok := req.URL.Password(); ok {
		p.cmd.Env = append(p.cmd.Env, "URLGET_PASSWORD="+password)
	}
	ownGroup(p.cmd)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	p.stdout = &pipe{stdout, idle}
	p.idle = idle
	if err := p.cmd.Start(); err != nil {
		cancel()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fetch.ErrFile.Errorf("start the external driver: %w", err)
	}
	p.wait = sync.OnceValue(p.outcome)
	return p, nil
}

func (p *process) Close() error {
	p.cancel()
	p.wait()
	return nil
}

// outcome waits for the program to exit and classifies a failure. A program that has closed its
// output must exit within the idle timeout.
func (p *process) outcome() error {
	if p.idle > 0 {
		defer time.AfterFunc(p.idle, p.cancel).Stop()
	}
	err := p.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case p.ctx.Err() != nil:
		return context.Cause(p.ctx)
	case errors.As(err, &exit):
		return &fetch.Error{Code: codeOf(exit.ExitCode()), Retry: exit.ExitCode() == 4,
			Err:   fmt.Errorf("the external driver failed: %v", exit),
			Reply: fetch.Reply{Text: p.stderr.lastLine()}}
	}
	return fetch.ErrServer.Errorf("the external driver: %w", err)
}

// codes has the classes of errors by exit status. Programs use the same statuses as urlget.
var codes = [...]fetch.Code{
	2:  fetch.ErrURL,
	3:  fetch.ErrFile,
	4:  fetch.ErrNetwork,
	5:  fetch.ErrTLS,
	6:  fetch.ErrAuth,
	7:  fetch.ErrProtocol,
	8:  fetch.ErrNotFound,
	16: fetch.ErrNotRetrievable,
	17: fetch.ErrPolicy,
	18: fetch.ErrTruncated,
}

func codeOf(status int) fetch.Code {
	if status < 0 || status >= len(codes) {
		return fetch.ErrServer
	}
	return cmp.Or(codes[status], fetch.ErrServer)
}

// A tail keeps the last maxTail bytes that are written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const maxTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if extra := len(t.b) - maxTail; extra > 0 {
		t.b = append(t.b[:0], t.b[extra:]...)
	}
	return len(p), nil
}

func (t *tail) lastLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimSpace(t.b)
	return strings.TrimSpace(string(text[bytes.LastIndexByte(text, '\n')+1:]))
}
