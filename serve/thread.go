package serve

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/mail"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/message"
)

const (
	maxIndent = 4
	maxThread = 100      // articles of a thread on one page
	maxPost   = 64 << 10 // bytes of each
)

type node struct {
	e        fetch.Entry
	id       string
	author   string
	parent   *node
	children []*node
}

func (l *listing) threads(entries iter.Seq[fetch.Entry]) {
	var nodes []*node
	byID := make(map[string]*node)
	refs := make(map[*node][]string)
	for e := range entries {
		if l.total++; !l.matches(e) {
			continue
		}
		if len(nodes) == maxHeld {
			l.p.put("tooMany", maxHeld)
			break
		}
		facts := e.Facts()
		n := &node{e: e, id: textOf(facts, "message_id"), author: textOf(facts, "from")}
		refs[n], _ = facts.Value("references").([]string)
		nodes = append(nodes, n)
		if n.id != "" && byID[n.id] == nil {
			byID[n.id] = n
		}
	}
	var roots []*node
	for _, n := range nodes {
		for _, ref := range slices.Backward(refs[n]) { // the last reference is the parent
			if p := byID[fetch.Printable(ref)]; p != nil && !p.within(n) {
				n.parent = p
				break
			}
		}
		if n.parent != nil {
			n.parent.children = append(n.parent.children, n)
		} else {
			roots = append(roots, n)
		}
	}
	l.p.put("threadhead", fetch.Printable(l.p.here.url.Redacted()))
	for _, n := range slices.Backward(roots) { // newest first
		l.thread(n)
	}
	l.p.put("threadend", nil)
}

func (n *node) within(m *node) bool {
	for ; n != nil; n = n.parent {
		if n == m {
			return true
		}
	}
	return false
}

// thread writes an article and its replies. It does not recurse, since servers control the depth.
func (l *listing) thread(root *node) {
	type step struct {
		n     *node
		depth int
	}
	for stack := []step{{root, 0}}; len(stack) > 0; {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		l.depth = s.depth
		thread := ""
		if s.depth == 0 && len(s.n.children) > 0 {
			thread = l.p.s.link("/thread", l.p.here.to(s.n.e.URL))
		}
		l.put("article", struct {
			row
			Depth, Level   int
			Author, Thread string
			Replies        int
		}{l.row(s.n.e), min(s.depth, maxIndent), s.depth + 1, nameOf(s.n.author), thread, len(s.n.children)})
		for _, c := range slices.Backward(s.n.children) {
			stack = append(stack, step{c, s.depth + 1})
		}
	}
}

func nameOf(author string) string {
	name, _, _ := strings.Cut(author, " <")
	return strings.Trim(name, `"`)
}

func (s *Server) showThread(w http.ResponseWriter, r *http.Request) {
	p, ok := s.signedPage(w, r, r.URL.Query())
	if !ok {
		return
	}
	articles, depths := s.readings.thread(p.address)
	if len(articles) < 2 {
		group := address{url: p.address.from, foreign: p.address.foreign}
		http.Redirect(w, r, cmp.Or(s.linkTo(group), "/"), http.StatusSeeOther)
		return
	}
	for i, one := range articles[:min(len(articles), maxThread)] {
		if err := p.post(r.Context(), one, min(depths[i], maxIndent)); err != nil {
			p.begin(http.StatusOK, "Thread")
			p.writeTrouble(err)
		}
		p.flush()
	}
	if len(articles) > maxThread {
		p.put("tooMany", maxThread)
	}
	p.putVisit(p.title)
	p.end(nil)
}

func (p *page) post(ctx context.Context, a address, depth int) (err error) {
	done, err := p.s.acquire(ctx)
	if err != nil {
		return err
	}
	defer done()
	var resp *fetch.Response
	var text []byte
	p.await(func() {
		ctx := context.WithValue(ctx, conversationKey{}, p.conversation)
		if resp, err = p.s.do(ctx, a, &fetch.Request{}); err == nil {
			text, err = io.ReadAll(io.LimitReader(resp.Body, maxPost))
			resp.Body.Close()
		}
	})
	fields, _ := message.SplitHead(text)
	header := message.ParseHeader(fields)
	if len(header) == 0 {
		return err
	}
	p.title = cmp.Or(p.title, fetch.Printable(message.Decode(header.Get("Subject"))))
	p.begin(http.StatusOK, cmp.Or(p.title, "Thread"))
	date, _ := mail.ParseDate(header.Get("Date"))
	author := fetch.Printable(message.Decode(header.Get("From")))
	p.put("post", struct {
		Depth              int
		Author, Date, Link string
		Cut                bool
	}{depth, nameOf(author), dateText(date), p.s.link("/view", a), len(text) == maxPost})
	wrong := p.text(message.Text(bytes.NewReader(text)), "", folded)
	p.put("postend", nil)
	return errors.Join(err, wrong)
}
