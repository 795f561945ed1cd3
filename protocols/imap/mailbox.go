package imap

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/fetch/message"
)

const listItems = "(UID FLAGS RFC822.SIZE INTERNALDATE ENVELOPE)"

// maxMatches limits the matches of a search. The server returns all UIDs in one line.
const maxMatches = 100_000

// A Message describes one message of a listing.
type Message struct {
	UID     uint32 `fact:"uid"`
	Subject string `fact:"subject,optional"`
	From    string `fact:"from,optional"` // the first author
	Date    string `fact:"date,optional"` // the Date header field, unparsed
	ID      string `fact:"message_id,optional"`
	ReplyTo string // the In-Reply-To header field: IDs of messages
	Unread  bool   `fact:"unread,optional"`
}

// EntryFacts implements [fetch.EntryRecord].
func (m Message) EntryFacts() fetch.Facts {
	facts := driver.FactsOf("imap", "", m)
	if m.ReplyTo != "" {
		facts.List = append(facts.List, fetch.Fact{Name: "references", Value: strings.Fields(m.ReplyTo)})
	}
	return facts
}

// The body of the response consists of the server's FETCH responses.
func (d *opener) openMailbox(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	var sets []string
	l, err := d.leaseSession(ctx, t, func(s *session) (err error) {
		if err := s.examine(t, true); err != nil || req.Op == fetch.OpStat {
			return err
		}
		sets = []string{"1:*"}
		if t.search != "" {
			sets, err = s.search(t.search)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return t.listing(req, l, func(yield func(driver.Part, error) bool) {
		for _, set := range sets {
			if !l.Conn.list(t, set, yield) {
				return
			}
		}
	}), nil
}

// listing returns the response with the parts, unless req wants metadata only. The lease ends with it.
func (t *target) listing(req *fetch.Request, l lease, parts iter.Seq2[driver.Part, error]) *fetch.Response {
	resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, ContentType: "text/plain", Size: -1},
		URL: t.url, Body: fetch.NoBody}
	if req.Op == fetch.OpStat {
		l.Put()
	} else {
		l.SetParts(resp, parts)
	}
	return resp
}

// search runs a search and returns the matches as UID sets, each short enough for one command.
func (s *session) search(program string) (sets []string, err error) {
	if strings.IndexFunc(program, func(r rune) bool { return r > '~' }) >= 0 {
		program = "CHARSET UTF-8 " + program
	}
	const perCommand = 500
	var uids []string
	err = s.cmd("search", "UID SEARCH "+program, func(r response) error {
		fields := strings.Fields(string(r.data))
		if len(fields) == 0 || !strings.EqualFold(fields[0], "SEARCH") {
			return nil
		}
		for _, f := range fields[1:] {
			if _, err := strconv.ParseUint(f, 10, 32); err != nil {
				return errValue
			}
			if uids = append(uids, f); len(uids) > maxMatches {
				return fetch.ErrTooLarge.Errorf("the search finds more than %d messages", maxMatches)
			}
		}
		return nil
	})
	for len(uids) > 0 {
		n := min(perCommand, len(uids))
		sets, uids = append(sets, strings.Join(uids[:n], ",")), uids[n:]
	}
	return sets, err
}

func (s *session) list(t *target, set string, yield func(driver.Part, error) bool) bool {
	tag, err := s.send("UID FETCH "+set+" "+listItems, "")
	if err != nil {
		yield(driver.Part{}, err)
		return false
	}
	return s.yieldParts("mailbox "+t.mailbox, tag, yield, func(data []byte) (driver.Part, bool, error) {
		items, ok, err := parseFetch(data)
		uid := items["UID"].number()
		if err != nil || !ok || uid == 0 || uid > 1<<32-1 {
			return driver.Part{}, false, err
		}
		part, err := t.part(s.validity, uint32(uid), items)
		return part, true, err
	})
}

// yieldParts yields the part that the part function returns for each response to a command. It reports
// whether to continue. If the loop stops early, the session is broken.
func (s *session) yieldParts(desc, tag string, yield func(driver.Part, error) bool,
	part func(data []byte) (p driver.Part, ok bool, err error)) bool {
	stopTimeout := s.ReplyTimeout()
	defer func() { stopTimeout() }()
	for {
		r, err := s.next(false)
		done := false
		if err == nil {
			done, err = s.status(desc, tag, r)
		}
		if err != nil {
			yield(driver.Part{}, err)
			return false
		}
		if done {
			return true
		}
		p, ok, err := part(r.data)
		if err != nil {
			yield(driver.Part{}, s.Lines.Break(err))
			return false
		}
		if !ok {
			continue
		}
		p.Text = append(r.data, "\r\n"...)
		stopTimeout()
		if !yield(p, nil) {
			s.Lines.Break(net.ErrClosed) // the rest of the response is unread
			return false
		}
		stopTimeout = s.ReplyTimeout()
	}
}

func (t *target) part(validity, uid uint32, items map[string]value) (driver.Part, error) {
	u, err := t.messageURL(validity, uid)
	if err != nil {
		return driver.Part{}, err
	}
	m := Message{UID: uid}
	if envelope := items["ENVELOPE"].list; len(envelope) >= 10 {
		m.Date, m.ID = envelope[0].nstring(), envelope[9].nstring()
		m.ReplyTo = envelope[8].nstring()
		m.Subject, m.From = message.Decode(envelope[1].nstring()), author(envelope[2].list)
	}
	flags, known := items["FLAGS"]
	m.Unread = known && !slices.ContainsFunc(flags.list, func(f value) bool {
		return strings.EqualFold(f.text, `\Seen`)
	})
	e := fetch.Entry{URL: u, Name: cmp.Or(m.Subject, fmt.Sprintf("message %d", uid)),
		Kind: fetch.EntryObject, Rel: "item", ContentType: "message/rfc822", Size: -1, Sys: m}
	if size, ok := items["RFC822.SIZE"]; ok {
		e.Size = size.number()
	}
	e.ModTime, _ = parseDate(items["INTERNALDATE"].text)
	return driver.Part{Entries: []fetch.Entry{e}}, nil
}

// author returns the first of the addresses of an envelope: name, source route, mailbox and host (RFC
// 3501, section 7.4.2).
func author(addresses []value) string {
	if len(addresses) == 0 || len(addresses[0].list) != 4 {
		return ""
	}
	a := addresses[0].list
	name, mailbox, host := message.Decode(a[0].nstring()), a[2].nstring(), a[3].nstring()
	switch {
	case host == "":
		return name // the mailbox is the name of a group
	case name == "":
		return mailbox + "@" + host
	}
	return name + " <" + mailbox + "@" + host + ">"
}

// nstring returns the text of a string, or "" for NIL (RFC 3501, section 9).
func (v value) nstring() string {
	if v.null {
		return ""
	}
	return v.text
}

// openServer lists the mailboxes of a server. The body consists of the server's LIST responses.
func (d *opener) openServer(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	tag := ""
	l, err := d.leaseSession(ctx, t, func(s *session) (err error) {
		if req.Op == fetch.OpStat {
			return s.cmd("", "NOOP", nil)
		}
		tag, err = s.send(`LIST "" "*"`, "")
		return err
	})
	if err != nil {
		return nil, err
	}
	return t.listing(req, l, func(yield func(driver.Part, error) bool) {
		l.Conn.yieldParts("the list of mailboxes", tag, yield, func(data []byte) (driver.Part, bool, error) {
			part, ok := t.mailboxPart(data)
			return part, ok, nil
		})
	}), nil
}

// mailboxPart parses a LIST response such as `LIST (\HasNoChildren) "/" "Sent"`.
func (t *target) mailboxPart(data []byte) (driver.Part, bool) {
	all, err := parseValues(data)
	if err != nil || len(all) != 4 || !strings.EqualFold(all[0].text, "LIST") {
		return driver.Part{}, false
	}
	name, ok := decodeName(all[3].text)
	if !ok {
		name = all[3].text
	}
	e := fetch.Entry{Name: name, Kind: fetch.EntryListing, Rel: "item", Size: -1}
	for _, flag := range all[1].list {
		if f := strings.ToUpper(flag.text); f == `\NOSELECT` || f == `\NONEXISTENT` {
			ok = false
		}
	}
	if ok {
		e.URL, err = t.mailboxURL(name)
	}
	if !ok || err != nil {
		e.Kind = fetch.EntryText // the mailbox cannot be selected, or its name does not fit in a URL
	}
	return driver.Part{Entries: []fetch.Entry{e}}, true
}
