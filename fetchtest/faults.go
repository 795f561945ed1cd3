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

// hasCode reports whether the class of err is one of codes.
func hasCode(err error, codes ...fetch.Code) bool {
	return slices.Contains(codes, fetch.CodeOf(err))
}

// cut makes the server close the connection in mid-body. The driver must not report io.EOF.
func cut(t *caseTest) {
	rawURL, want := t.largest()
	c := t.client(nil)
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
		t.arm(Cut)
		resp, err := c.Get(t.context(), rawURL)
		if err != nil {
			t.checkLost(way, err)
			continue
		}
		var got bytes.Buffer
		err = read(&got, resp.Body)
		resp.Body.Close()
		switch {
		case !bytes.HasPrefix(want, got.Bytes()):
			t.Errorf("%s: wrong bytes before the cut: %s", way,
				difference(got.Bytes(), want[:min(len(want), got.Len())]))
		case err != nil:
			t.checkLost(way, err)
		case got.Len() == len(want):
			t.Errorf("%s: complete: the server's fault had no effect", way)
		case resp.Framing != fetch.FramedByClose:
			t.Errorf("%s: %d of %d bytes without an error", way, got.Len(), len(want))
		}
	}
	t.checkRecovery(c)
}

// checkLost checks the error of a connection that was closed in mid-body.
func (t *caseTest) checkLost(way string, err error) {
	t.Helper()
	t.checkError(err)
	if !hasCode(err, fetch.ErrTruncated, fetch.ErrNetwork) {
		t.Errorf("%s: error %v, want one of class %q or %q", way, err, fetch.ErrTruncated, fetch.ErrNetwork)
	}
}

// stall makes the server stop sending in mid-body. The caller cancels the context.
func stall(t *caseTest) {
	rawURL, _ := t.largest()
	o := t.options()
	o.Timeouts = fetch.Timeouts{Reply: -1, Idle: -1}
	c := t.client(o)
	t.arm(Stall)
	why := errors.New("canceled by the suite")
	ctx, cancel := context.WithCancelCause(t.context())
	defer cancel(nil)
	resp := t.open(ctx, c, rawURL)
	t.firstByte(resp)
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) }) // Read is waiting by then
	t.within("a retrieval whose context has ended", func() {
		err := discard(resp, nil)
		if !errors.Is(err, why) {
			t.Errorf("error %v, want the cause of the context, %q", err, why)
			return
		}
		t.checkError(err)
	})
	t.checkRecovery(c)
}

// idleTimeout makes the server stop sending in mid-body. The idle timeout ends the retrieval.
func idleTimeout(t *caseTest) {
	rawURL, _ := t.largest()
	o := t.options()
	o.Timeouts = fetch.Timeouts{Idle: 150 * time.Millisecond}
	c := t.client(o)
	t.arm(Stall)
	t.within("a retrieval from a silent server", func() {
		err := discard(c.Get(t.Context(), rawURL))
		if err == nil {
			t.Error("a stalled transfer ends without an error")
			return
		}
		t.checkLost("with an idle timeout", err)
	})
	// On a slow machine the timeout may have expired before the request was sent. This retrieval
	// uses up a fault that is still armed.
	o.Timeouts = fetch.Timeouts{Idle: 2 * time.Second}
	_ = discard(t.client(o).Get(t.context(), rawURL))
	t.checkRecovery(t.client(nil))
}

// firstByte reads the first byte of a body. By then the fault has occurred.
func (t *caseTest) firstByte(resp *fetch.Response) {
	t.Helper()
	if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
		resp.Body.Close()
		t.Fatalf("first byte: %v", err)
	}
}

// closeStalled closes a body while another goroutine waits in Read for a silent server. Close and
// Read must both return.
func closeStalled(t *caseTest) {
	rawURL, want := t.largest()
	o := t.options()
	o.Timeouts = fetch.Timeouts{Reply: -1, Idle: -1}
	c := t.client(o)
	t.arm(Stall)
	resp := t.open(t.context(), c, rawURL)
	t.firstByte(resp)
	read := make(chan struct{})
	go func() {
		defer close(read)
		if n, err := io.Copy(io.Discard, resp.Body); err == nil && n+1 < int64(len(want)) {
			t.Error("a body closed by another goroutine ends without an error")
		}
	}()
	t.within("Close", func() { resp.Body.Close() })
	t.within("Read during Close", func() { <-read })
	t.checkRecovery(c)
}

// noise makes the server send bytes that are not a reply of the protocol.
func noise(t *caseTest) {
	rawURL, _ := t.file(smallFile)
	o := t.options()
	o.Timeouts = fetch.Timeouts{Reply: 2 * time.Second, Idle: 2 * time.Second}
	c := t.client(o)
	t.arm(Noise)
	t.within("a retrieval with noise", func() {
		err := discard(c.Get(t.Context(), rawURL))
		if err == nil {
			t.Error("noise was accepted as content")
			return
		}
		t.checkError(err)
		if !hasCode(err, fetch.ErrProtocol, fetch.ErrTLS) {
			t.Errorf("error %v, want one of class %q", err, fetch.ErrProtocol)
		}
	})
	t.checkRecovery(c)
}
