// Package mailto knows the scheme mailto (RFC 1738, section 3.5; RFC 6068).
// Nothing is ever sent: the URL names a mail address, and no data. With
// mailboxes it lists the messages to and from the address, as RFC 1630 has it.
package mailto

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/mail"
	"net/textproto"
	"strings"
	"sync"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/mailbox"
)

// Options configures the driver. The zero value is the default.
type Options struct {
	// Mailboxes are the mbox files and Maildir folders to list messages from.
	// With none, a mailto URL cannot be retrieved.
	Mailboxes []string
}

// Load registers the driver with default options.
func Load(env *fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With is Load with options.
func With(opts Options) fetch.Loader {
	return func(_ *fetch.Env, reg *fetch.Registry) {
		s := fetch.Scheme{Name: "mailto", Driver: &driver{opts},
			Summary: "a mail address; nothing is sent"}
		if len(opts.Mailboxes) > 0 {
			s.Ops, s.Local = []fetch.Op{fetch.OpGet, fetch.OpList}, true
			s.Summary = "the messages to and from an address, in mailboxes; nothing is sent"
		}
		reg.Register(s)
	}
}

type driver struct{ opts Options }

// Open implements fetch.Driver.
func (d *driver) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	m, err := uri.ParseMailto(req.URL)
	if err != nil {
		return nil, err
	}
	if len(d.opts.Mailboxes) == 0 {
		what := "it proposes a message"
		if len(m.To) > 0 {
			what = "it is the mail address " + strings.Join(m.To, ", ")
		}
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: errors.New(what),
			Hint: "--compose prints a message to send, --mailbox lists messages to and from the address"}
	}
	if req.Op != fetch.OpGet && req.Op != fetch.OpList {
		return nil, errors.ErrUnsupported
	}
	return d.list(ctx, req.URL, m.To)
}

// A Message is the Sys of the entries: the header fields of a message, decoded.
type Message struct {
	MessageID string `json:"message_id"` // with its angle brackets
	From      string `json:"from"`
	To        string `json:"to"`
	Subject   string `json:"subject"`
	Date      string `json:"date"`
	Mailbox   string `json:"mailbox"` // the file it is in
}

// list answers with the messages that have one of the addresses in their
// header.
func (d *driver) list(ctx context.Context, u uri.URI, addresses []string) (*fetch.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	entries := func(yield func(fetch.Entry, error) bool) {
		boxes := mailbox.Boxes{Paths: d.opts.Mailboxes}
		for m, err := range boxes.All(ctx) {
			if err != nil {
				yield(fetch.Entry{}, err)
				return
			}
			h := message.ParseHeader(m.Head)
			if concerns(h, addresses) && !yield(entry(m, h), nil) {
				return
			}
		}
	}
	return &fetch.Response{
		URL:     u,
		Meta:    fetch.Meta{Kind: fetch.KindListing, ContentType: "text/plain; charset=utf-8", Size: -1},
		Body:    &lines{entries: entries, cancel: cancel},
		Entries: entries,
	}, nil
}

// addressFields are those that say to whom and from whom a message is.
var addressFields = [...]string{"From", "To", "Cc", "Bcc", "Sender", "Reply-To", "Resent-From", "Resent-To", "Resent-Cc",
	"Delivered-To", "X-Original-To"}

// concerns reports whether one of the addresses is in the header.
func concerns(h textproto.MIMEHeader, addresses []string) bool {
	for _, name := range addressFields {
		for _, value := range h[name] {
			value = strings.ToLower(message.Decode(value))
			for _, address := range addresses {
				if holds(value, strings.ToLower(address)) {
					return true
				}
			}
		}
	}
	return false
}

// holds reports whether a list of addresses holds one. Lists that break the
// rules are common, so it is looked for as a word.
func holds(list, address string) bool {
	for address != "" {
		i := strings.Index(list, address)
		if i < 0 {
			return false
		}
		end := i + len(address)
		if (i == 0 || !inAddress(list[i-1])) && (end == len(list) || !inAddress(list[end])) {
			return true
		}
		list = list[end:]
	}
	return false
}

// inAddress reports whether an address goes on with c.
func inAddress(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("!#$%&'*+-/=?^_`{|}~.@", c) >= 0
}

// entry describes a message.
func entry(m *mailbox.Message, h textproto.MIMEHeader) fetch.Entry {
	sys := Message{
		MessageID: h.Get("Message-Id"), From: message.Decode(h.Get("From")), To: message.Decode(h.Get("To")),
		Subject: message.Decode(h.Get("Subject")), Date: h.Get("Date"), Mailbox: m.Path,
	}
	e := fetch.Entry{
		Name: sys.Subject, Kind: fetch.EntryText, Rel: "item", ContentType: "message/rfc822",
		Size: m.Size, Sys: sys,
	}
	e.ModTime, _ = mail.ParseDate(sys.Date)
	if id := strings.Trim(sys.MessageID, "<> \t"); id != "" && !strings.ContainsAny(id, "<>\r\n\x00") {
		e.URL, e.Kind = uri.MID{MessageID: id}.URI(), fetch.EntryObject
	}
	return e
}

// lines is the listing as text: identifier, date, sender and subject, divided
// by tabs.
type lines struct {
	entries iter.Seq2[fetch.Entry, error]
	cancel  context.CancelFunc
	mu      sync.Mutex // held while entries are read
	next    func() (fetch.Entry, error, bool)
	stop    func()
	buf     bytes.Buffer
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next, l.stop = iter.Pull2(l.entries)
	}
	for l.buf.Len() == 0 {
		e, err, ok := l.next()
		if !ok {
			return 0, io.EOF
		}
		if err != nil {
			return 0, err
		}
		m := e.Sys.(Message)
		date := ""
		if !e.ModTime.IsZero() {
			date = e.ModTime.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(&l.buf, "%s\t%s\t%s\t%s\n", m.MessageID, date, oneLine(m.From), oneLine(m.Subject))
	}
	return l.buf.Read(p)
}

// oneLine makes a field fit into a line of fields.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Close implements io.Closer.
func (l *lines) Close() error {
	l.cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stop != nil {
		l.stop()
	}
	return nil
}

var _ fetch.Driver = (*driver)(nil)
