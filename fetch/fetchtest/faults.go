package fetchtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/urlget/urlget/fetch"
)

// hasCode reports whether err is of one of the classes.
func hasCode(err error, codes ...fetch.Code) bool {
	return slices.Contains(codes, fetch.CodeOf(err))
}

// cut lets the server close the connection in mid-body. That must not look
// like the end.
func cut(e *exam) {
	rawURL, want := e.largest()
	c := e.client(nil)
	ways := map[string]func(io.Writer, io.Reader) error{
		"Read": func(w io.Writer, r io.Reader) error {
			_, err := io.Copy(w, struct{ io.Reader }{r})
			return err
		},
		"io.Copy": func(w io.Writer, r io.Reader) error {
			_, err := io.Copy(struct{ io.Writer }{w}, r)
			return err
		},
	}
	for way, read := range ways {
		e.arm(Cut)
		resp, err := c.Get(e.context(), rawURL)
		if err != nil {
			e.checkLost(way, err)
			continue
		}
		var got bytes.Buffer
		err = read(&got, resp.Body)
		resp.Body.Close()
		switch {
		case !bytes.HasPrefix(want, got.Bytes()):
			e.Errorf("%s: what came before the cut is wrong: %s", way, difference(got.Bytes(), want[:min(len(want), got.Len())]))
		case err != nil:
			e.checkLost(way, err)
		case got.Len() == len(want):
			e.Errorf("%s: all came: the fault of the server did not strike", way)
		case resp.Framing != fetch.FramedByClose:
			e.Errorf("%s: %d of %d octets came, and then the end as if that were all", way, got.Len(), len(want))
		}
	}
	e.recovers(c)
}

// checkLost checks the error of a connection that was lost in mid-body.
func (e *exam) checkLost(way string, err error) {
	e.Helper()
	e.checkError(err)
	if !hasCode(err, fetch.ErrTruncated, fetch.ErrNetwork) {
		e.Errorf("%s: error %v, want one of class %q or %q", way, err, fetch.ErrTruncated, fetch.ErrNetwork)
	}
}

// stall lets the server fall silent in mid-body, until the caller gives up.
func stall(e *exam) {
	rawURL, _ := e.largest()
	o := e.options()
	o.Timeouts = fetch.Timeouts{Reply: -1, Idle: -1}
	c := e.client(o)
	e.arm(Stall)
	why := errors.New("the caller lost interest")
	ctx, cancel := context.WithCancelCause(e.context())
	defer cancel(nil)
	resp := e.open(ctx, c, rawURL)
	e.firstOctet(resp)
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) }) // by then, Read waits
	e.within("a retrieval whose context has ended", func() {
		err := discard(resp, nil)
		if !errors.Is(err, why) {
			e.Errorf("error %v, want the cause of the context, %q", err, why)
			return
		}
		e.checkError(err)
	})
	e.recovers(c)
}

// idleTimeout lets the server fall silent in mid-body, and nobody gives up.
func idleTimeout(e *exam) {
	rawURL, _ := e.largest()
	o := e.options()
	o.Timeouts = fetch.Timeouts{Idle: 150 * time.Millisecond}
	c := e.client(o)
	e.arm(Stall)
	e.within("a retrieval from a silent server", func() {
		err := discard(c.Get(e.Context(), rawURL))
		if err == nil {
			e.Error("a transfer that stalled reads as if it had ended")
			return
		}
		e.checkLost("with an idle timeout", err)
	})
	// A slow machine may have run out of time before the server was asked
	// for the file. The fault is then still armed, and strikes now.
	o.Timeouts = fetch.Timeouts{Idle: 2 * time.Second}
	_ = discard(e.client(o).Get(e.context(), rawURL))
	e.recovers(e.client(nil))
}

// firstOctet reads the first octet of a body: the fault has struck by then.
func (e *exam) firstOctet(resp *fetch.Response) {
	e.Helper()
	if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
		resp.Body.Close()
		e.Fatalf("the server stalled before the first octet, or: %v", err)
	}
}

// closeStalled closes a body while another goroutine waits for the silent
// server. Neither Close nor Read may wait for it.
func closeStalled(e *exam) {
	rawURL, want := e.largest()
	o := e.options()
	o.Timeouts = fetch.Timeouts{Reply: -1, Idle: -1}
	c := e.client(o)
	e.arm(Stall)
	resp := e.open(e.context(), c, rawURL)
	e.firstOctet(resp)
	read := make(chan struct{})
	go func() {
		defer close(read)
		if n, err := io.Copy(io.Discard, resp.Body); err == nil && n+1 < int64(len(want)) {
			e.Error("a body closed by another goroutine reads as if it had ended")
		}
	}()
	e.within("Close", func() { resp.Body.Close() })
	e.within("Read during Close", func() { <-read })
	e.recovers(c)
}

// noise lets the server answer what is no answer.
func noise(e *exam) {
	rawURL, _ := e.file(smallFile)
	o := e.options()
	o.Timeouts = fetch.Timeouts{Reply: 2 * time.Second, Idle: 2 * time.Second}
	c := e.client(o)
	e.arm(Noise)
	e.within("a retrieval from a raving server", func() {
		err := discard(c.Get(e.Context(), rawURL))
		if err == nil {
			e.Error("noise was taken for content")
			return
		}
		e.checkError(err)
		if !hasCode(err, fetch.ErrProtocol, fetch.ErrTLS) {
			e.Errorf("error %v, want one of class %q", err, fetch.ErrProtocol)
		}
	})
	e.recovers(c)
}
