package pop

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// A Message is what a listing tells of one message.
type Message struct {
	Number int    `json:"number"`
	UID    string `json:"uid,omitempty"` // the unique-id; "" if the server has none
}

// openMaildrop lists the messages of a maildrop. The content has a line for each: number, unique-id
// or "-", size in bytes.
func (d *driver) openMaildrop(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, ContentType: "text/plain", Size: -1}, URL: t.url, Body: fetch.NoBody}
	sizes := make(map[int]int64)
	numbered := false
	l, err := d.with(ctx, t, func(l lease) error {
		if l.Reused {
			return mailsession.ErrStale
		}
		if req.Op == fetch.OpStat {
			_, err := l.Conn.expect("maildrop", "STAT")
			return err
		}
		if err := l.Conn.scan("LIST", func(number int, value string) { sizes[number] = parseSize(value) }); err != nil {
			return err
		}
		_, err := l.Conn.expect("UIDL", "UIDL")
		if isPlainRefusal(err) {
			numbered, err = true, nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if req.Op == fetch.OpStat {
		l.Put()
		return resp, nil
	}
	if numbered {
		l.Put()
		resp.Body, resp.Parse = fetch.NewListing(t.byNumber(sizes), nil)
		return resp, nil
	}
	resp.Body, resp.Parse = l.Listing(func(yield func(fetch.Part, error) bool) {
		for line, err := range l.Conn.stream() {
			if err != nil {
				yield(fetch.Part{}, err)
				return
			}
			number, uid, ok := scanLine(line)
			if !ok {
				continue
			}
			size, known := sizes[number]
			if !known {
				size = -1
			}
			if !yield(t.part(number, uid, size)) {
				return
			}
		}
	})
	return resp, nil
}

// byNumber lists the messages of a server without unique-ids.
func (t *target) byNumber(sizes map[int]int64) iter.Seq2[fetch.Part, error] {
	return func(yield func(fetch.Part, error) bool) {
		for _, number := range slices.Sorted(maps.Keys(sizes)) {
			if !yield(t.part(number, "", sizes[number])) {
				return
			}
		}
	}
}

// part is one message of a listing.
func (t *target) part(number int, uid string, size int64) (fetch.Part, error) {
	u, err := t.messageURL(number, uid)
	if err != nil {
		return fetch.Part{}, err
	}
	e := fetch.Entry{URL: u, Name: uid, Kind: fetch.EntryObject, Rel: "item", ContentType: "message/rfc822",
		Size: size, Sys: Message{Number: number, UID: uid}}
	shown := uid
	if uid == "" {
		e.Name, shown = fmt.Sprint(number), "-"
	}
	return fetch.Part{Text: fmt.Appendf(nil, "%d %s %d\r\n", number, shown, size), Entries: []fetch.Entry{e}}, nil
}
