package prospero

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/wire"
	"github.com/urlget/urlget/protocols/prospero/ardp"
	"github.com/urlget/urlget/protocols/prospero/message"
)

// An answer is a message being received.
type answer struct {
	*message.Scanner
	conn    net.Conn
	release func() bool
}

const longestWord = len("VERSION-NOT-SUPPORTED")

// Close ends the exchange.
func (a *answer) Close() error {
	a.release()
	return a.conn.Close()
}

// ask sends a request and begins to read the answer.
func (d *driver) ask(ctx context.Context, o object, request string) (*answer, error) {
	if strings.ContainsRune(request, 0) {
		return nil, &fetch.Error{Code: fetch.ErrURL, Err: errors.New("NUL in the name of an object")}
	}
	conn, err := d.env.Dial(ctx, "udp", o.host)
	if err != nil {
		return nil, err
	}
	a := &answer{conn: conn, release: fetch.Bind(ctx, conn)}
	if trace := d.env.Trace(); trace != nil {
		for text := range strings.SplitSeq(request, "\n") {
			trace(true, text)
		}
	}
	x, err := ardp.Start(conn, []byte(request), d.opts.MaxReply, d.opts.Timing)
	if err != nil {
		a.Close()
		return nil, err
	}
	a.Scanner = message.NewScanner(fetchErrors{x})
	return a, nil
}

// fetchErrors gives the errors of an exchange their class.
type fetchErrors struct{ r io.Reader }

func (f fetchErrors) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		err = asFetch(err)
	}
	return n, err
}

func asFetch(err error) error {
	switch {
	case errors.Is(err, ardp.ErrNoAnswer):
		return &fetch.Error{Code: fetch.ErrNetwork, Retry: true, Err: err}
	case errors.Is(err, ardp.ErrRefused):
		return &fetch.Error{Code: fetch.ErrRefused, Err: err}
	case errors.Is(err, ardp.ErrTooLong):
		return &fetch.Error{Code: fetch.ErrTooLarge, Err: err}
	case errors.Is(err, message.ErrMalformed):
		return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
	}
	return err
}

// The outcomes that lead to the next request.
var (
	errNotDirectory = errors.New("not a directory")
	errNoContents   = errors.New("the server does not hold the contents")
	errOldVersion   = errors.New("the server speaks an older version")
	errNoneFound    = errors.New("none found")
)

// failure returns what a line says went wrong; nil if it is no such line.
func failure(l message.Line) error {
	e := &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Text: wire.Text(l.Text(0))}}
	switch l[0] {
	case "VERSION-NOT-SUPPORTED":
		return errOldVersion
	case "NONE-FOUND":
		e.Code, e.Reply = fetch.ErrNotFound, fetch.Reply{Text: "NONE-FOUND"}
	case "UNRESOLVED":
		e.Code = fetch.ErrNotFound
	case "ERROR":
		e.Code = fetch.ErrProtocol
	case "FAILURE":
		switch reason := l.At(1); {
		case reason == "NOT-A-DIRECTORY":
			return errNotDirectory
		case strings.Contains(reason, "NOT-FOUND"):
			e.Code = fetch.ErrNotFound
		case strings.Contains(reason, "NOT-AUTHORIZED"), strings.Contains(reason, "AUTHENTICAT"):
			e.Code = fetch.ErrRefused
		}
	default:
		return nil
	}
	return e
}

// forwarded reads FORWARDED and the place where the object is now.
func forwarded(l message.Line) *fetch.Response {
	var link Link
	link.place(l[1:])
	return &fetch.Response{Meta: fetch.Meta{Reply: fetch.Reply{Text: wire.Text(l.Text(0))}},
		Location: []uri.URI{link.prospero()}, Body: fetch.NoBody}
}

// remarks begin the lines of a good answer that only accompany what was asked
// for.
var remarks = []string{"VERSION", "SUCCESS", "AUTHENTICATED", "WARNING", "LINK", "LINK-INFO", "ATTRIBUTE"}

// seek reads lines up to one that begins with word, and leaves that unread. If
// the object is elsewhere, it returns the response that says so. The error is
// io.EOF if there is no such line. Lines of unknown kinds are passed over, but
// an answer needs one at least of a known kind.
func (a *answer) seek(word string) (*fetch.Response, error) {
	var unknown message.Line
	known := false
	for {
		first, err := a.Word(longestWord)
		if err == io.EOF && unknown != nil && !known {
			return nil, &fetch.Error{Code: fetch.ErrProtocol,
				Err: fmt.Errorf("the answer is not Prospero's: %s", wire.Text(unknown.Text(0)))}
		}
		if err != nil || first == word {
			return nil, err
		}
		l, err := a.Line()
		switch {
		case err != nil:
			return nil, asFetch(err)
		case l[0] == "FORWARDED":
			return forwarded(l), nil
		case l[0] == "NONE-FOUND":
			return nil, errNoneFound
		}
		if err := failure(l); err != nil {
			return nil, err
		}
		if slices.Contains(remarks, l[0]) {
			known = true
		} else {
			unknown = l
		}
	}
}
