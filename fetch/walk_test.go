package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// menus is a driver of listings. Pages maps URLs to entries: "NAME" for a document, "NAME/" for a
// listing below, "NAME -> URL" for a listing elsewhere, "!" for an error that ends the listing.
type menus struct {
	pages map[string]string

	mu       sync.Mutex
	requests []string
	from     []string
	open     int
}

func (m *menus) Open(ctx context.Context, req *fetch.Request) (*fetch.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, req.URL.String())
	m.from = append(m.from, req.From.String())
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	page, ok := m.pages[req.URL.Normalize().String()]
	if !ok {
		return nil, fetch.ErrNotFound
	}
	if to, ok := strings.CutPrefix(page, "=> "); ok {
		return &fetch.Response{Location: []uri.URI{uri.MustParse(to)}, Body: fetch.NoBody}, nil
	}
	if m.open > 0 {
		return nil, errors.New("two listings are open at once")
	}
	m.open++
	parse := func(r io.Reader) iter.Seq2[fetch.Entry, error] {
		return func(yield func(fetch.Entry, error) bool) {
			for item := range strings.SplitSeq(page, "|") {
				if item == "!" {
					yield(fetch.Entry{}, fetch.ErrTruncated)
					return
				}
				name, to, elsewhere := strings.Cut(item, " -> ")
				e := fetch.Entry{Name: name, Size: -1}
				switch {
				case elsewhere:
					e.Kind, e.URL = fetch.EntryListing, uri.MustParse(to)
				case name == "..":
					e.Rel, e.Kind, e.URL = "parent", fetch.EntryListing, req.URL.Resolve(uri.MustParse("../"))
				case strings.HasSuffix(name, "/"):
					e.Kind, e.URL = fetch.EntryListing, req.URL.Resolve(uri.MustParse(name))
				default:
					e.URL = req.URL.Resolve(uri.MustParse(name))
				}
				if !yield(e, nil) {
					return
				}
			}
		}
	}
	body := fetch.OnClose(io.NopCloser(strings.NewReader(page)), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.open--
	})
	return &fetch.Response{Meta: fetch.Meta{Kind: fetch.KindListing, Size: int64(len(page))}, Body: body, Parse: parse}, nil
}

func (m *menus) client() *fetch.Client {
	return fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		for _, name := range []string{"x-menu", "x-other"} {
			reg.Register(fetch.Scheme{Name: name, Port: 70, Ops: []fetch.Op{fetch.OpList}, Driver: m})
		}
	})
}

// walkResults returns the results of a walk, one string per member.
func walkResults(seq iter.Seq2[*fetch.Member, error], visit func(*fetch.Member)) []string {
	var list []string
	for m, err := range seq {
		text := strings.Join(m.Path, ",")
		if err != nil {
			text += " ! " + fetch.CodeOf(err).Error()
		}
		list = append(list, text)
		if err == nil && visit != nil {
			visit(m)
		}
	}
	return list
}

func TestWalk(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"x-menu://h/":             "..|a|d/|b|e/|gone/",
		"x-menu://h/d/":           "..|x|up -> X-MENU://H/|deep/",
		"x-menu://h/d/deep/":      "y|again -> x-menu://h/d/",
		"x-menu://h/e/":           "z|other -> x-menu://elsewhere/|scheme -> x-other://h/|!",
		"x-menu://elsewhere/":     "far",
		"x-other://h/":            "near",
		"x-menu://h/port/":        "default -> x-menu://h:70/p/|other -> x-menu://h:71/p/",
		"x-menu://h:70/p/":        "q",
		"x-menu://h/moved/":       "=> x-menu://elsewhere/m/",
		"x-menu://elsewhere/m/":   "n|s/|home -> x-menu://h/",
		"x-menu://elsewhere/m/s/": "o",
	}
	skip := func(name string) func(*fetch.Member) {
		return func(m *fetch.Member) {
			if m.Name == name {
				m.SkipDir()
			}
		}
	}
	everywhere := func(*fetch.Member) bool { return true }
	for _, tt := range []struct {
		name, root string
		opts       *fetch.WalkOptions
		visit      func(*fetch.Member)
		want       string
	}{
		{"all", "x-menu://h/", nil, nil, "..;a;d/;b;e/;gone/;d/,..;d/,x;d/,up;d/,deep/;d/,deep/,y;d/,deep/,again;" +
			"e/,z;e/,other;e/,scheme;e/ ! transfer incomplete;gone/ ! not found"},
		{"below a redirect", "x-menu://h/moved/", nil, nil, "n;s/;home;s/,o"},
		{"an origin", "x-menu://h/port/", nil, nil, "default;other;default,q"},
		{"one level", "x-menu://h/", &fetch.WalkOptions{MaxDepth: 1}, nil, "..;a;d/;b;e/;gone/"},
		{"two levels", "x-menu://h/d/", &fetch.WalkOptions{MaxDepth: 2}, nil, "..;x;up;deep/;up,..;up,a;up,d/;up,b;up,e/;up,gone/;deep/,y;deep/,again"},
		{"without one listing", "x-menu://h/", nil, skip("d/"), "..;a;d/;b;e/;gone/;e/,z;e/,other;e/,scheme;e/ ! transfer incomplete;gone/ ! not found"},
		{"without the rest of a listing", "x-menu://h/", nil, skip("b"), "..;a;d/;b;d/,..;d/,x;d/,up;d/,deep/;d/,deep/,y;d/,deep/,again"},
		{"a bound on listings", "x-menu://h/", &fetch.WalkOptions{MaxListings: 2}, nil, "..;a;d/;b;e/;e/ ! larger than the limit"},
		{"everywhere", "x-menu://h/e/", &fetch.WalkOptions{Enter: everywhere}, nil, "z;other;scheme; ! transfer incomplete;other,far;scheme,near"},
		{"nothing there", "x-menu://h/gone/", nil, nil, " ! not found"},
		{"no URL", "a b", nil, nil, " ! malformed URL"},
		{"no driver", "x-none:a", nil, nil, " ! no driver for scheme"},
	} {
		m := &menus{pages: pages}
		if got := strings.Join(walkResults(m.client().Walk(t.Context(), tt.root, tt.opts), tt.visit), ";"); got != tt.want {
			t.Errorf("%s:\n %s, want\n %s", tt.name, got, tt.want)
		}
		if m.open != 0 {
			t.Errorf("%s: %d listings are left open", tt.name, m.open)
		}
		slices.Sort(m.requests)
		if once := slices.Compact(slices.Clone(m.requests)); len(once) != len(m.requests) {
			t.Errorf("%s: a listing was read twice: %q", tt.name, m.requests)
		}
	}
}

// The URLs in a listing have remote provenance.
func TestWalkKeepsProvenance(t *testing.T) {
	t.Parallel()
	m := &menus{pages: map[string]string{"x-menu://h/": "d/", "x-menu://h/d/": "e/", "x-menu://h/d/e/": "x"}}
	for v, err := range m.client().Walk(t.Context(), "x-menu://h/", nil) {
		if err != nil {
			t.Fatal(err)
		}
		if want := m.requests[len(m.requests)-1]; v.From.String() != want {
			t.Errorf("%q is from %s, want %s", v.Path, v.From, want)
		}
	}
	if want := []string{"", "x-menu://h/", "x-menu://h/d/"}; !slices.Equal(m.from, want) {
		t.Errorf("From was %q, want %q", m.from, want)
	}
	// A menu cannot lead to a local resource.
	local := fetch.New(nil, func(_ fetch.Env, reg *fetch.Registry) {
		m := &menus{pages: map[string]string{"x-menu://h/": "disk -> x-local:/", "x-local:/": "secret"}}
		reg.Register(fetch.Scheme{Name: "x-menu", Ops: []fetch.Op{fetch.OpList}, Driver: m})
		reg.Register(fetch.Scheme{Name: "x-local", Ops: []fetch.Op{fetch.OpList}, Local: true, Driver: m})
	})
	opts := &fetch.WalkOptions{Enter: func(*fetch.Member) bool { return true }}
	if got := walkResults(local.Walk(t.Context(), "x-menu://h/", opts), nil); !slices.Equal(got, []string{"disk", "disk ! refused by policy"}) {
		t.Errorf("got %q", got)
	}
}

func TestWalkEndsWithLoopAndContext(t *testing.T) {
	t.Parallel()
	m := &menus{pages: map[string]string{"x-menu://h/": "a/|b/", "x-menu://h/a/": "x|y", "x-menu://h/b/": "z"}}
	for v, err := range m.client().Walk(t.Context(), "x-menu://h/", nil) {
		if err != nil {
			t.Fatal(err)
		}
		if v.Name == "x" {
			break
		}
	}
	if len(m.requests) != 2 || m.open != 0 {
		t.Errorf("after break: %q were asked for, %d are open", m.requests, m.open)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var errs []error
	for v, err := range m.client().Walk(ctx, "x-menu://h/", nil) {
		if err != nil {
			errs = append(errs, err)
		} else if v.Name == "x" {
			cancel(why)
		}
	}
	if len(errs) != 1 || !errors.Is(errs[0], why) {
		t.Errorf("errors %v, want one that matches %v", errs, why)
	}
}

func TestReadAll(t *testing.T) {
	t.Parallel()
	s := newShelf(1000)
	for _, tt := range []struct {
		limit int64
		sizes bool
		cut   int
		err   error
	}{
		{0, true, -1, nil},
		{1000, true, -1, nil},
		{1000, false, -1, nil},
		{999, true, -1, fetch.ErrTooLarge},
		{999, false, -1, fetch.ErrTooLarge},
		{5000, true, 500, fetch.ErrTruncated},
	} {
		s.sizes, s.cut = tt.sizes, once(tt.cut)
		data, err := s.client().ReadAll(t.Context(), "x-shelf://h/", tt.limit)
		if !errors.Is(err, tt.err) || err == nil && string(data) != string(s.data) || err != nil && data != nil {
			t.Errorf("%+v: %d bytes, %v", tt, len(data), err)
		}
	}
	if s.open != 0 {
		t.Errorf("%d bodies are left open", s.open)
	}
	if _, err := s.client().ReadAll(t.Context(), "x-none:", 0); !errors.Is(err, fetch.ErrScheme) {
		t.Errorf("error %v", err)
	}
}

func ExampleClient_Walk() {
	m := &menus{pages: map[string]string{
		"x-menu://h/":           "lunch|dinner/|tmp/",
		"x-menu://h/dinner/":    "soup|fish",
		"x-menu://h/dinner/tmp": "x",
	}}
	c := m.client()
	defer c.Close()
	for member, err := range c.Walk(context.Background(), "x-menu://h/", nil) {
		if err != nil {
			fmt.Println(err) // the walk continues with the other listings
			continue
		}
		if member.Name == "tmp/" {
			member.SkipDir()
			continue
		}
		fmt.Println(len(member.Path), member.URL)
	}
	// Output:
	// 1 x-menu://h/lunch
	// 1 x-menu://h/dinner/
	// 2 x-menu://h/dinner/soup
	// 2 x-menu://h/dinner/fish
}

func ExampleClient_Open() {
	s := newShelf(1 << 20)
	copy(s.data[500_000:], "here it is")
	c := s.client()
	defer c.Close()
	r, err := c.Open(context.Background(), &fetch.Request{URL: uri.MustParse("x-shelf://h/doc")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	p := make([]byte, 10)
	if _, err := r.ReadAt(p, 500_000); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s, at 500,000 of %d\n", p, r.Size())
	// Output:
	// here it is, at 500,000 of 1048576
}

func ExampleClient_ReadAll() {
	c := fetch.New(nil, fetch.Use("x-echo", fetch.DriverFunc(echo)))
	defer c.Close()
	text, err := c.ReadAll(context.Background(), "x-echo:hello", 1<<20)
	fmt.Printf("%s %v\n", text, err)
	_, err = c.ReadAll(context.Background(), "x-echo:a%20longer%20text", 10)
	fmt.Println(err)
	// Output:
	// hello <nil>
	// read x-echo:a%20longer%20text: larger than the limit: more than 10 bytes
}
