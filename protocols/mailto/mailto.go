// Package mailto handles mailto URLs (RFC 1738, section 3.5; RFC 6068). It never sends mail, and the
// URL identifies an address, not a resource. With mailboxes, it lists the messages to and from the
// address, as RFC 1630 suggests.
package mailto

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"net/textproto"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/message"
	"github.com/urlget/urlget/fetch/uri"
	"github.com/urlget/urlget/internal/mailbox"
)

// Options configure the driver. The zero value selects the defaults.
type Options struct {
	// Mailboxes are the mbox files and Maildir directories whose messages are listed. If empty,
	// mailto URLs cannot be retrieved.
	Mailboxes []string
}

// Load registers the driver with default options.
func Load(env fetch.Env, reg *fetch.Registry) { With(Options{})(env, reg) }

// With returns a Loader that registers the driver with options.
func With(opts Options) fetch.Loader {
	return func(_ fetch.Env, reg *fetch.Registry) {
		s := fetch.Scheme{Name: "mailto", Driver: &opener{opts},
			Summary: "a mail address; urlget sends no mail"}
		if len(opts.Mailboxes) > 0 {
			s.Ops, s.Local = []fetch.Op{fetch.OpGet, fetch.OpList}, true
			s.Summary = "messages to and from an address, in mailboxes; urlget sends no mail"
		}
		reg.Register(s)
	}
}

type opener struct{ opts Options }

func (d *opener) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	m, err := parse(req.URL)
	if err != nil {
		return nil, err
	}
	if len(d.opts.Mailboxes) == 0 {
		reason := "it is a draft of a message"
		if len(m.to) > 0 {
			reason = "it is the mail address " + strings.Join(m.to, ", ")
		}
		return nil, &fetch.Error{Code: fetch.ErrNotRetrievable, Err: errors.New(reason),
			Reason: fetch.Reason{Kind: fetch.ReasonMailDraft},
			Hint:   "configure mailboxes to list the messages to and from the address"}
	}
	return d.list(ctx, req.URL, m.to)
}

// A Message is the Sys of the entries: the decoded header fields of a message.
type Message struct {
	MessageID string `fact:"message_id"` // with angle brackets
	From      string `fact:"from"`
	To        string `fact:"to"`
	Subject   string `fact:"subject"`
	Date      string `fact:"date"`
	Mailbox   string `fact:"mailbox"` // the file that contains the message
}

// EntryFacts implements [fetch.EntryRecord].
func (m Message) EntryFacts() fetch.Facts { return driver.FactsOf("mailto", "", m) }

func (d *opener) list(ctx context.Context, u uri.URI, addresses []string) (*fetch.Response, error) {
	ctx, cancel := context.WithCancel(ctx)
	parts := func(yield func(driver.Part, error) bool) {
		boxes := mailbox.Boxes{Paths: d.opts.Mailboxes}
		for m, err := range boxes.All(ctx) {
			if err != nil {
				yield(driver.Part{}, err)
				return
			}
			h := message.ParseHeader(m.Head)
			if !mentions(h, addresses) {
				continue
			}
			e := entry(m, h)
			if !yield(driver.Part{Text: line(e), Entries: []fetch.Entry{e}}, nil) {
				return
			}
		}
	}
	resp := &fetch.Response{
		URL:  u,
		Meta: fetch.Meta{Kind: fetch.KindListing, ContentType: "text/plain; charset=utf-8", Size: -1},
	}
	driver.SetParts(resp, parts, func() error { cancel(); return nil })
	return resp, nil
}

// addressFields lists the header fields with senders and recipients.
var addressFields = [...]string{
	"From", "To", "Cc", "Bcc", "Sender", "Reply-To", "Resent-From", "Resent-To", "Resent-Cc",
	"Delivered-To", "X-Original-To",
}

func mentions(h textproto.MIMEHeader, addresses []string) bool {
	for _, name := range addressFields {
		for _, value := range h[name] {
			value = strings.ToLower(message.Decode(value))
			for _, address := range addresses {
				if containsAddress(value, strings.ToLower(address)) {
					return true
				}
			}
		}
	}
	return false
}

// containsAddress reports whether an address list contains address. Malformed lists are common, so it
// searches for address as a word.
func containsAddress(list, address string) bool {
	for address != "" {
		i := strings.Index(list, address)
		if i < 0 {
			return false
		}
		end := i + len(address)
		if (i == 0 || !isAddressByte(list[i-1])) && (end == len(list) || !isAddressByte(list[end])) {
			return true
		}
		list = list[end:]
	}
	return false
}

func isAddressByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c >= 0x80 ||
		strings.IndexByte("!#$%&'*+-/=?^_`{|}~.@", c) >= 0
}

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
		if u, err := (uri.MID{MessageID: id}).URI(); err == nil {
			e.URL, e.Kind = u, fetch.EntryObject
		}
	}
	return e
}

// line returns an entry as text: identifier, date, sender and subject, separated by tabs.
func line(e fetch.Entry) []byte {
	m := e.Sys.(Message)
	date := ""
	if !e.ModTime.IsZero() {
		date = e.ModTime.UTC().Format(time.RFC3339)
	}
	return fmt.Appendf(nil, "%s\t%s\t%s\t%s\n", m.MessageID, date, oneLine(m.From), oneLine(m.Subject))
}

// oneLine replaces white space, including line breaks, by single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
