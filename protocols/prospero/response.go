package prospero

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/codec/ardp"
	codec "github.com/urlget/urlget/internal/codec/prospero"
)

// A response is a message being received.
type response struct {
	*codec.Scanner
	conn *fetch.Conn
	// done ends the reply timeout, which covers the response up to the first link or the contents.
	done func()
}

func (a *response) Close() error { return a.conn.Close() }

const maxFirstWord = len("VERSION-NOT-SUPPORTED")

func (d *opener) ask(ctx context.Context, o object, request string) (*response, error) {
	if strings.ContainsRune(request, 0) {
		return nil, fetch.ErrURL.Errorf("NUL in the name of an object")
	}
	conn, err := d.env.Dial(ctx, "udp", o.host)
	if err != nil {
		return nil, err
	}
	conn.Bind(ctx)
	conn.SetIdle(0) // ARDP has its own timeouts
	if trace := conn.Line(); trace != nil {
		for text := range strings.SplitSeq(request, "\n") {
			trace(true, text)
		}
	}
	timing := ardp.Timing{First: d.opts.First, Tries: d.opts.Tries, Limit: d.env.Timeouts().Reply}
	timing.Waiting = func(wait time.Duration, position int) {
		text := fmt.Sprintf("the server %s requests a wait of %v", o.host, wait)
		if position > 0 {
			text += fmt.Sprintf(": the request is number %d in its queue", position)
		}
		d.env.Logger().Warn(text)
		if trace := conn.Line(); trace != nil {
			trace(false, text)
		}
	}
	x, err := ardp.Start(conn, []byte(request), d.opts.MaxReply, timing)
	if err != nil {
		conn.Close()
		return nil, err
	}
	source := io.Reader(errorReader{x})
	if trace := conn.Line(); trace != nil {
		source = &traceReader{r: source, trace: trace}
	}
	return &response{codec.NewScanner(source), conn, conn.ReplyTimeout(d.env.Timeouts().Reply)}, nil
}

// A traced reader traces a message line by line as it is read, except the contents of files.
type traceReader struct {
	r          io.Reader
	trace      func(sent bool, line string)
	line       []byte // up to maxTraced bytes of the current line
	inContents bool   // the contents of a file have begun
}

// maxTraced limits the traced part of a line, in bytes.
const maxTraced = 400

func (t *traceReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	for _, c := range p[:n] {
		if t.inContents {
			break
		}
		if c != '\n' {
			if len(t.line) < maxTraced {
				t.line = append(t.line, c)
			}
			if bytes.HasSuffix(t.line, []byte(" CONTENTS SEQUENCE DATA ")) {
				t.trace(false, string(t.line)+"(contents)")
				t.inContents = true
			}
			continue
		}
		t.flush()
	}
	if err == io.EOF && !t.inContents {
		t.flush()
	}
	return n, err
}

func (t *traceReader) flush() {
	if len(t.line) > 0 {
		t.trace(false, fetch.Printable(wire.Text(string(t.line))))
	}
	t.line = t.line[:0]
}

type errorReader struct{ r io.Reader }

func (f errorReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		err = driverError(err)
	}
	return n, err
}

func driverError(err error) error {
	switch {
	case errors.Is(err, ardp.ErrNoReply):
		return &fetch.Error{Code: fetch.ErrNetwork, Err: err} // the exchange has retried already
	case errors.Is(err, ardp.ErrMalformed), errors.Is(err, codec.ErrMalformed):
		return &fetch.Error{Code: fetch.ErrProtocol, Err: err}
	case errors.Is(err, ardp.ErrRefused):
		return &fetch.Error{Code: fetch.ErrRefused, Err: err}
	case errors.Is(err, ardp.ErrTooLong):
		return &fetch.Error{Code: fetch.ErrTooLarge, Err: err}
	}
	return err
}

// These results cause another request. If they are not expected, they violate the protocol.
var (
	errNotDirectory = errors.New("not a directory")
	errNoContents   = errors.New("the server does not store the contents")
	errOldVersion   = errors.New("the server supports only an older version")
	errNoneFound    = errors.New("none found")
)

func failure(l codec.Line) error {
	e := &fetch.Error{Code: fetch.ErrServer, Reply: fetch.Reply{Text: wire.Text(l.Text(0))}}
	switch l[0] {
	case "VERSION-NOT-SUPPORTED":
		return unexpected(errOldVersion)
	case "NONE-FOUND":
		e.Code, e.Reply = fetch.ErrNotFound, fetch.Reply{Text: "NONE-FOUND"}
	case "UNRESOLVED":
		e.Code = fetch.ErrNotFound
	case "ERROR":
		e.Code = fetch.ErrProtocol
	case "AUTHENTICATE", "AUTHENTICATOR", "DIRECTORY", "LIST", "GET-OBJECT-INFO":
		return fetch.ErrProtocol.Errorf("the server echoes requests")
	case "FAILURE":
		switch reason := l.At(1); {
		case reason == "NOT-A-DIRECTORY":
			return unexpected(errNotDirectory)
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

func unexpected(result error) error { return &fetch.Error{Code: fetch.ErrProtocol, Err: result} }

func parseForwarded(l codec.Line) (*fetch.Response, error) {
	var link Link
	link.setLocation(l[1:])
	reply, to := fetch.Reply{Text: wire.Text(l.Text(0))}, link.prospero()
	if to.IsZero() {
		return nil, &fetch.Error{Code: fetch.ErrRedirect, Reply: reply,
			Err: errors.New("the server did not return a valid location")}
	}
	return &fetch.Response{Meta: fetch.Meta{Reply: reply}, Location: []uri.URI{to},
		Body: fetch.NoBody}, nil
}

// A successful response may contain lines with these first words besides the requested lines.
var responseWords = []string{"VERSION", "SUCCESS", "AUTHENTICATED", "WARNING", "LINK", "LINK-INFO",
	"ATTRIBUTE"}

// seek reads up to the first line that begins with word, and leaves that line unread. If the object
// has moved, seek returns a redirect. The error is io.EOF if there is no such line. Lines of unknown
// kinds are skipped, but at least one line of the response must be of a known kind.
func (a *response) seek(word string) (*fetch.Response, error) {
	var unknown codec.Line
	known := false
	for {
		first, err := a.Word(maxFirstWord)
		if err == io.EOF && unknown != nil && !known {
			return nil, fetch.ErrProtocol.Errorf("not a Prospero response: %s", wire.Text(unknown.Text(0)))
		}
		if err != nil || first == word {
			return nil, err
		}
		l, err := a.Line()
		switch {
		case err != nil:
			return nil, driverError(err)
		case l[0] == "FORWARDED":
			return parseForwarded(l)
		case l[0] == "NONE-FOUND":
			return nil, errNoneFound
		}
		if err := failure(l); err != nil {
			return nil, err
		}
		if slices.Contains(responseWords, l[0]) {
			known = true
		} else {
			unknown = l
		}
	}
}
