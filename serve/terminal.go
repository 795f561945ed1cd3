package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/urlget/urlget/fetch"
)

const (
	maxSessions = 8
	idleTimeout = 30 * time.Minute
	// maxMessage limits the size of a WebSocket message, in bytes. Pages split longer input.
	maxMessage = 32 << 10
	// maxPageDelay limits how long a page may take to accept a message, and to send its screen
	// size.
	maxPageDelay        = 30 * time.Second
	maxColumns, maxRows = 500, 200
)

type order struct {
	Columns int  `json:"columns"`
	Rows    int  `json:"rows"`
	Break   bool `json:"break"`
	Status  bool `json:"status"`
}

type notice struct {
	Open   string `json:"open,omitempty"`   // host of the session
	Status string `json:"status,omitempty"` // negotiated options
	Closed string `json:"closed,omitempty"` // reason for the end of the session
}

type terminal struct {
	page   messageConn
	input  chan []byte
	orders chan order
	cancel context.CancelCauseFunc // cancels the session
}

type messageConn interface {
	Read(context.Context) (websocket.MessageType, []byte, error)
	Write(context.Context, websocket.MessageType, []byte) error
}

var (
	errPageClosed   = errors.New("the page was closed")
	errIdle         = fmt.Errorf("no input or output for %v", idleTimeout)
	errServerClosed = errors.New("the server closed the connection")
)

// terminal serves the WebSocket of a session. Pages of other sites are refused: they have neither
// our origin nor a ticket.
func (s *Server) terminal(w http.ResponseWriter, r *http.Request) {
	if !isSameOrigin(r) {
		http.Error(w, "The request does not come from a page of this server.", http.StatusForbidden)
		return
	}
	a, ok := s.tickets.take(r.URL.Query().Get("ticket"))
	if !ok || s.Sessions == nil {
		http.Error(w, "The session ticket has expired. Open the page again.", http.StatusForbidden)
		return
	}
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has sent the error
	}
	defer c.CloseNow()
	c.SetReadLimit(maxMessage)
	ctx, cancel := context.WithCancelCause(r.Context())
	t := &terminal{page: c, input: make(chan []byte), orders: make(chan order), cancel: cancel}
	var listener sync.WaitGroup
	listener.Go(func() { t.listen(ctx) })
	err = s.runSession(ctx, t, a)
	cancel(err)
	t.notify(context.WithoutCancel(ctx), notice{Closed: closeReason(err)})
	c.Close(websocket.StatusNormalClosure, "")
	listener.Wait()
}

// runSession opens a session after the page has sent its screen size. It returns when one side ends
// the session, the idle timeout expires or the page is closed.
func (s *Server) runSession(ctx context.Context, t *terminal, a address) error {
	select {
	case s.sessions <- struct{}{}:
		defer func() { <-s.sessions }()
	default:
		return &fetch.Error{Code: fetch.ErrBusy, Err: fmt.Errorf("%d sessions are already open", maxSessions),
			Hint: "close another session"}
	}
	idle := time.AfterFunc(maxPageDelay, func() { t.cancel(errIdle) })
	defer idle.Stop()
	var size order
	select {
	case size = <-t.orders:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	idle.Reset(idleTimeout)
	resp, err := s.Sessions.Do(ctx, &fetch.Request{URL: a.url, From: a.from, Op: fetch.OpDial})
	if err != nil {
		return err
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		resp.Body.Close()
		return &fetch.Error{Code: fetch.ErrNotRetrievable,
			Err: errors.New("the session does not accept input")}
	}
	var output sync.WaitGroup
	defer output.Wait()
	defer conn.Close()
	defer t.cancel(nil)
	context.AfterFunc(ctx, func() { conn.Close() }) // unblocks reads and writes
	screen, _ := conn.(fetch.Terminal)
	if err := t.execute(ctx, screen, size); err != nil {
		return err
	}
	if err := t.notify(ctx, notice{Open: fetch.Printable(hostPort(a.url))}); err != nil {
		return errPageClosed
	}
	output.Go(func() { t.cancel(t.show(ctx, conn, idle)) })
	for {
		select {
		case keys := <-t.input:
			_, err = conn.Write(keys)
		case o := <-t.orders:
			err = t.execute(ctx, screen, o)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		idle.Reset(idleTimeout)
	}
}

func (t *terminal) listen(ctx context.Context) {
	for {
		kind, message, err := t.page.Read(context.WithoutCancel(ctx))
		if err != nil {
			t.cancel(errPageClosed)
			return
		}
		var o order
		switch {
		case kind == websocket.MessageBinary:
			select {
			case t.input <- message:
			case <-ctx.Done(): // the session has ended
			}
		case json.Unmarshal(message, &o) == nil:
			select {
			case t.orders <- o:
			case <-ctx.Done():
			}
		}
	}
}

func (t *terminal) execute(ctx context.Context, screen fetch.Terminal, o order) error {
	if screen == nil {
		return nil
	}
	switch {
	case o.Columns > 0 && o.Rows > 0:
		return screen.Resize(min(o.Columns, maxColumns), min(o.Rows, maxRows))
	case o.Break:
		return screen.Break()
	case o.Status:
		return t.notify(ctx, notice{Status: fetch.Printable(screen.Status())})
	}
	return nil
}

func (t *terminal) show(ctx context.Context, conn io.Reader, idle *time.Timer) error {
	buf := make([]byte, 16<<10)
	for {
		n, err := conn.Read(buf)
		if n > 0 {
			idle.Reset(idleTimeout)
			if t.send(ctx, websocket.MessageBinary, buf[:n]) != nil {
				return errPageClosed
			}
		}
		if err == io.EOF {
			return errServerClosed
		}
		if err != nil {
			return err
		}
	}
}

func (t *terminal) notify(ctx context.Context, n notice) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return t.send(ctx, websocket.MessageText, text)
}

func (t *terminal) send(ctx context.Context, kind websocket.MessageType, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, maxPageDelay)
	defer cancel()
	return t.page.Write(ctx, kind, message)
}

func closeReason(err error) string {
	if e := (*fetch.Error)(nil); errors.As(err, &e) && e.Hint != "" {
		return e.Message() + " (" + fetch.Printable(e.Hint) + ")"
	}
	return messageOf(err)
}
