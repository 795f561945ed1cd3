package nntpd

import (
	"fmt"
	"strconv"
	"strings"
)

// A Group is a newsgroup. Its articles are numbered from First.
type Group struct {
	Name, Description string
	First             int // 0 means 1
	Articles          []Article
	// Synthetic is the number of generated articles, which only have overview lines. If it is
	// positive, Articles is ignored.
	Synthetic int
}

// An Article is a message with LF or CR LF line ends. An empty text means a canceled article.
type Article struct {
	ID   string // with angle brackets
	Text string
}

func (g *Group) first() int { return max(g.First, 1) }

func (g *Group) last() int {
	if g.Synthetic > 0 {
		return g.first() + g.Synthetic - 1
	}
	return g.first() + len(g.Articles) - 1
}

// exists reports whether article n exists.
func (g *Group) exists(n int) bool {
	return n >= g.first() && n <= g.last() && (g.Synthetic > 0 || g.Articles[n-g.first()].Text != "")
}

func (g *Group) count() int {
	n := 0
	for i := g.first(); i <= g.last(); i++ {
		if g.exists(i) {
			n++
		}
	}
	return n
}

// parseRange parses "5", "5-" and "5-7".
func (g *Group) parseRange(s string) (from, to int) {
	lo, hi, dash := strings.Cut(s, "-")
	from, _ = strconv.Atoi(lo)
	switch {
	case !dash:
		to = from
	case hi == "":
		to = g.last()
	default:
		to, _ = strconv.Atoi(hi)
	}
	return max(from, g.first()), min(to, g.last())
}

// overview returns the overview line of an article.
func (g *Group) overview(n int) string {
	if g.Synthetic > 0 {
		return SyntheticOverview(g.Name, n)
	}
	a := g.Articles[n-g.first()]
	head, body, _ := strings.Cut(strings.ReplaceAll(a.Text, "\r\n", "\n"), "\n\n")
	h := make(map[string]string)
	for line := range strings.SplitSeq(head, "\n") {
		name, value, _ := strings.Cut(line, ":")
		h[strings.ToLower(name)] = strings.ReplaceAll(strings.TrimSpace(value), "\t", " ")
	}
	return fmt.Sprintf("%d\t%s\t%s\t%s\t%s\t%s\t%d\t%d", n, h["subject"], h["from"], h["date"], a.ID,
		h["references"], len(a.Text), strings.Count(body, "\n"))
}

// SyntheticOverview returns the overview line of a synthetic article.
func SyntheticOverview(group string, n int) string {
	return fmt.Sprintf("%d\tRe: a subject of usual length for article %d\tSome Body "+
		"<some.body%d@example.invalid>\t"+
		"Sat, 29 Feb 2020 12:34:56 +0000\t<article%d.part1@news.example.invalid>\t"+
		"<parent%d@news.example.invalid> <root@news.example.invalid>\t%d\t%d\tXref: news.example.invalid "+
		"%s:%d",
		n, n, n, n, n, 2000+n%500, 20+n%100, group, n)
}
