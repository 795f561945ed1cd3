package serve

import (
	"iter"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
)

const maxIndent = 4

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

// within reports whether n is m or one of its descendants.
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
		author, _, _ := strings.Cut(s.n.author, " <")
		l.put("article", struct {
			row
			Depth, Level int
			Author       string
			Replies      int
		}{l.row(s.n.e), min(s.depth, maxIndent), s.depth + 1, strings.Trim(author, `"`), len(s.n.children)})
		for _, c := range slices.Backward(s.n.children) {
			stack = append(stack, step{c, s.depth + 1})
		}
	}
}
