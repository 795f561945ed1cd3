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
	// maxSessions is how many sessions there may be at once.
	maxSessions = 8
	// maxSilence is how long a session goes on in which nobody says anything.
	maxSilence = 30 * time.Minute
	// maxTyped bounds a message of a page, in bytes. What is longer comes in parts.
	maxTyped = 32 << 10
	// maxTold is how long a page may take to accept a message, and to say how large it is.
	maxTold = 30 * time.Second
	// maxColumns and maxRows bound the size of a screen.
	maxColumns, maxRows = 500, 200
)

// An order is what a page says besides what is typed.
type order struct {
	Columns int  `json:"columns"`
	Rows    int  `json:"rows"`
	Break   bool `json:"break"`
	Status  bool `json:"status"`
}

// A notice is what a page is told besides what the server sends.
type notice struct {
	Open   string `json:"open,omitempty"`   // whom the session is with
	Status string `json:"status,omitempty"` // what was asked for
	Closed string `json:"closed,omitempty"` // why it ended
}

// A terminal is that of a session on a page. Bytes go in binary messages, all else in texts.
type terminal struct {
	page   messages
	typed  chan []byte
	orders chan order
	cancel context.CancelCauseFunc // ends the session
}

// Messages are what a page and the server tell each other.
type messages interface {
	Read(context.Context) (websocket.MessageType, []byte, error)
	Write(context.Context, websocket.MessageType, []byte) error
}

var (
	errLeft   = errors.New("the page was left")
	errSilent = fmt.Errorf("nobody said anything for %v", maxSilence)
	errEnded  = errors.New("the other side closed the connection")
)

// terminal carries a session between a page and a server. Pages of others cannot get here: they have
// neither our origin nor a ticket.
func (s *Server) terminal(w http.ResponseWriter, r *http.Request) {
	if !ours(r) {
		http.Error(w, "Another page sent this.", http.StatusForbidden)
		return
	}
	a, ok := s.tickets.take(r.URL.Query().Get("ticket"))
	if !ok || s.Sessions == nil {
		http.Error(w, "This page has to be opened anew.", http.StatusForbidden)
		return
	}
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // it has answered
	}
	defer c.CloseNow()
	c.SetReadLimit(maxTyped)
	ctx, cancel := context.WithCancelCause(r.Context())
	t := &terminal{page: c, typed: make(chan []byte), orders: make(chan order), cancel: cancel}
	var listening sync.WaitGroup
	listening.Go(func() { t.listen(ctx) })
	err = s.converse(ctx, t, a)
	cancel(err)
	t.tell(context.WithoutCancel(ctx), notice{Closed: ending(err)})
	c.Close(websocket.StatusNormalClosure, "")
	listening.Wait()
}

// converse opens a session once the page has said how large it is, and carries it until one side
// ends it or nobody has said anything for long. The page may be left at any time.
func (s *Server) converse(ctx context.Context, t *terminal, a address) error {
	select {
	case s.sessions <- struct{}{}:
		defer func() { <-s.sessions }()
	default:
		return &fetch.Error{Code: fetch.ErrBusy, Err: fmt.Errorf("there are %d sessions already", maxSessions), Hint: "end one of them"}
	}
	silence := time.AfterFunc(maxTold, func() { t.cancel(errSilent) })
	defer silence.Stop()
	var size order
	select {
	case size = <-t.orders:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	silence.Reset(maxSilence)
	resp, err := s.Sessions.Do(ctx, &fetch.Request{URL: a.url, From: a.from, Op: fetch.OpDial})
	if err != nil {
		return err
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		resp.Body.Close()
		return &fetch.Error{Code: fetch.ErrNotRetrievable, Err: errors.New("it takes no input")}
	}
	var showing sync.WaitGroup
	defer showing.Wait()
	defer conn.Close()
	defer t.cancel(nil)
	context.AfterFunc(ctx, func() { conn.Close() }) // so that nothing waits for the server
	screen, _ := conn.(fetch.Terminal)
	if err := t.obey(ctx, screen, size); err != nil {
		return err
	}
	if err := t.tell(ctx, notice{Open: fetch.Printable(hostPort(a.url))}); err != nil {
		return errLeft
	}
	showing.Go(func() { t.cancel(t.show(ctx, conn, silence)) })
	for {
		select {
		case keys := <-t.typed:
			_, err = conn.Write(keys)
		case o := <-t.orders:
			err = t.obey(ctx, screen, o)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		silence.Reset(maxSilence)
	}
}

// listen takes what the page says until the page is left.
func (t *terminal) listen(ctx context.Context) {
	for {
		kind, message, err := t.page.Read(context.WithoutCancel(ctx))
		if err != nil {
			t.cancel(errLeft)
			return
		}
		var o order
		switch {
		case kind == websocket.MessageBinary:
			select {
			case t.typed <- message:
			case <-ctx.Done(): // what comes now is too late
			}
		case json.Unmarshal(message, &o) == nil:
			select {
			case t.orders <- o:
			case <-ctx.Done():
			}
		}
	}
}

// obey does what a page says besides what is typed.
func (t *terminal) obey(ctx context.Context, screen fetch.Terminal, o order) error {
	if screen == nil {
		return nil
	}
	switch {
	case o.Columns > 0 && o.Rows > 0:
		return screen.Resize(min(o.Columns, maxColumns), min(o.Rows, maxRows))
	case o.Break:
		return screen.Break()
	case o.Status:
		return t.tell(ctx, notice{Status: fetch.Printable(screen.Status())})
	}
	return nil
}

// show sends the page what the server sends. A page that does not take it holds the server up.
func (t *terminal) show(ctx context.Context, conn io.Reader, silence *time.Timer) error {
	buf := make([]byte, 16<<10)
	for {
		n, err := conn.Read(buf)
		if n > 0 {
			silence.Reset(maxSilence)
			if t.send(ctx, websocket.MessageBinary, buf[:n]) != nil {
				return errLeft
			}
		}
		if err == io.EOF {
			return errEnded
		}
		if err != nil {
			return err
		}
	}
}

func (t *terminal) tell(ctx context.Context, n notice) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return t.send(ctx, websocket.MessageText, text)
}

func (t *terminal) send(ctx context.Context, kind websocket.MessageType, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, maxTold)
	defer cancel()
	return t.page.Write(ctx, kind, message)
}

// ending says why a session is over.
func ending(err error) string {
	var e *fetch.Error
	switch {
	case errors.As(err, &e) && e.Hint != "":
		return e.Message() + " (" + fetch.Printable(e.Hint) + ")"
	case errors.As(err, &e):
		return e.Message()
	}
	return fetch.Printable(err.Error())
}
