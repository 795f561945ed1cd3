package pop

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver"
	"github.com/urlget/urlget/protocols/internal/mailsession"
)

// A Message describes one message of a listing.
type Message struct {
	Number int    `fact:"number"`
	UID    string `fact:"uid,optional"` // the unique-id; "" if the server has none
}

// EntryFacts implements [fetch.EntryRecord].
func (m Message) EntryFacts() fetch.Facts { return driver.FactsOf("pop", "", m) }

// The body has a line for each message: the number, the unique-id or "-", and the size in bytes.
func (d *opener) openMaildrop(ctx context.Context, req *fetch.Request, t *target) (*fetch.Response, error) {
	resp := &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, ContentType: "text/plain",
		Size: -1}, URL: t.url, Body: fetch.NoBody}
	sizes := make(map[int]int64)
	noUIDs := false
	l, err := d.pool.Lease(ctx, &t.Server, nil, func(l lease) error {
		if l.Reused {
			return mailsession.ErrStale
		}
		if req.Op == fetch.OpStat {
			_, err := l.Conn.expect("maildrop", "STAT")
			return err
		}
		if err := l.Conn.scan("LIST",
			func(number int, value string) { sizes[number] = parseSize(value) }); err != nil {
			return err
		}
		_, err := l.Conn.expect("UIDL", "UIDL")
		if isPlainRefusal(err) {
			noUIDs, err = true, nil
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
	if noUIDs {
		l.Put()
		driver.SetParts(resp, t.byNumber(sizes), nil)
		return resp, nil
	}
	l.SetParts(resp, func(yield func(driver.Part, error) bool) {
		for line, err := range l.Conn.dotLines {
			if err != nil {
				yield(driver.Part{}, err)
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

func (t *target) byNumber(sizes map[int]int64) iter.Seq2[driver.Part, error] {
	return func(yield func(driver.Part, error) bool) {
		for _, number := range slices.Sorted(maps.Keys(sizes)) {
			if !yield(t.part(number, "", sizes[number])) {
				return
			}
		}
	}
}

func (t *target) part(number int, uid string, size int64) (driver.Part, error) {
	u, err := t.messageURL(number, uid)
	if err != nil {
		return driver.Part{}, err
	}
	e := fetch.Entry{URL: u, Name: uid, Kind: fetch.EntryObject, Rel: "item", ContentType: "message/rfc822",
		Size: size, Sys: Message{Number: number, UID: uid}}
	column := uid
	if uid == "" {
		e.Name, column = fmt.Sprint(number), "-"
	}
	return driver.Part{Text: fmt.Appendf(nil, "%d %s %d\r\n", number, column, size),
		Entries: []fetch.Entry{e}}, nil
}
