// Package robots parses robots.txt files (RFC 9309).
package robots

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// MaxSize limits how much of a robots.txt is read, in bytes; the rest is ignored (RFC 9309, section
// 2.5).
const MaxSize = 500 << 10

// maxDelay is the maximum Crawl-delay; longer ones are shortened to it.
const maxDelay = time.Minute

// Rules are the rules for one crawler. The zero value and nil allow everything.
type Rules struct {
	rules []rule
	// Delay is the minimum time between two requests, at most a minute. It comes from Crawl-delay,
	// which is common but not part of the RFC. 0 means no delay.
	Delay time.Duration
	// Sitemaps are the sitemap references as written in the file.
	Sitemaps []string
}

type rule struct {
	pattern string // normalized, with "*" and perhaps a "$" at its end
	allow   bool
}

// Read reads the rules for the crawler named agent, such as "urlget", "MJ12bot" or "urlget/1.0". The
// name ends before the first character that is not a letter, a digit, "_", "-" or "."; case does not
// matter. RFC 9309 has no digits and dots in names. A crawler without them is also named by groups
// that add a version without a slash, such as "urlget2". If no group names the agent, those for "*"
// apply. Several groups for one crawler are combined. Lines end with CR, LF or both; invalid lines
// are ignored. Read returns only errors of r.
func Read(r io.Reader, agent string) (*Rules, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxSize))
	if err != nil {
		return nil, err
	}
	p := parser{agent: product(agent, true), own: &Rules{}, others: &Rules{}}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for len(text) > 0 {
		line := text
		if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
			line, text = text[:i], text[i+1:]
		} else {
			text = nil
		}
		p.line(string(line))
	}
	rules := p.others
	if p.named {
		rules = p.own
	}
	rules.Sitemaps = p.sitemaps
	return rules, nil
}

// Text formats the rules as a robots.txt that applies to every crawler.
func (r *Rules) Text() []byte {
	var b bytes.Buffer
	b.WriteString("User-agent: *\n")
	for _, one := range r.rules {
		word := "Disallow"
		if one.allow {
			word = "Allow"
		}
		b.WriteString(word + ": " + one.pattern + "\n")
	}
	if r.Delay > 0 {
		b.WriteString("Crawl-delay: " + strconv.FormatFloat(r.Delay.Seconds(), 'f', -1, 64) + "\n")
	}
	for _, text := range r.Sitemaps {
		b.WriteString("Sitemap: " + text + "\n")
	}
	return b.Bytes()
}

type parser struct {
	agent         string
	own, others   *Rules
	named         bool // there is a group for agent
	inRules       bool // the User-agent lines of the group have ended
	forAgent, all bool // the group names agent, or "*"
	sitemaps      []string
}

func (p *parser) line(line string) {
	line, _, _ = strings.Cut(line, "#")
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		return
	}
	value = strings.TrimSpace(value)
	switch key = strings.ToLower(strings.TrimSpace(key)); key {
	case "user-agent":
		if p.inRules {
			p.inRules, p.forAgent, p.all = false, false, false
		}
		p.all = p.all || value == "*"
		if p.agent != "" && (product(value, false) == p.agent || product(value, true) == p.agent) {
			p.forAgent, p.named = true, true
		}
	case "allow", "disallow":
		p.inRules = true
		if value != "" {
			p.each(func(r *Rules) {
				r.rules = append(r.rules,
					rule{normalizePattern(value), key == "allow"})
			})
		}
	case "crawl-delay":
		p.inRules = true
		if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
			d := time.Duration(min(s, maxDelay.Seconds()) * float64(time.Second))
			p.each(func(r *Rules) { r.Delay = max(r.Delay, d) })
		}
	case "sitemap":
		if value != "" {
			p.sitemaps = append(p.sitemaps, value)
		}
	}
}

// each calls f with the rules to which the current group belongs.
func (p *parser) each(f func(*Rules)) {
	if p.forAgent {
		f(p.own)
	}
	if p.all {
		f(p.others)
	}
}

// product returns the product token at the start of value, in lower case (RFC 9309, section 2.2.1).
// If versions is set, digits and dots belong to it.
func product(value string, versions bool) string {
	end := 0
	for end < len(value) && (isUnreserved(value[end]) && value[end] != '~') &&
		(versions || value[end] != '.' && (value[end] < '0' || value[end] > '9')) {
		end++
	}
	return strings.ToLower(value[:end])
}

// Allowed reports whether path, with its query, may be retrieved, and the rule that applies. That
// is the rule with the longest pattern; if two are equally long, the allow rule (section 2.2.2).
// Matched is "" if no rule matches. The robots.txt itself is always allowed.
func (r *Rules) Allowed(path string) (ok bool, matched string) {
	if r == nil || len(r.rules) == 0 || path == "/robots.txt" {
		return true, ""
	}
	path = normalize(path)
	var best *rule
	for i := range r.rules {
		candidate := &r.rules[i]
		if best != nil && (len(candidate.pattern) < len(best.pattern) ||
			len(candidate.pattern) == len(best.pattern) && best.allow) {
			continue
		}
		if matches(candidate.pattern, path) {
			best = candidate
		}
	}
	switch {
	case best == nil:
		return true, ""
	case best.allow:
		return true, "Allow: " + best.pattern
	}
	return false, "Disallow: " + best.pattern
}

// matches reports whether path matches pattern. Each piece between two asterisks is matched at its
// first occurrence, which finds a match if there is one.
func matches(pattern, path string) bool {
	pattern, anchored := strings.CutSuffix(pattern, "$")
	first, rest, wildcard := strings.Cut(pattern, "*")
	path, ok := strings.CutPrefix(path, first)
	if !ok {
		return false
	}
	for wildcard {
		var piece string
		piece, rest, wildcard = strings.Cut(rest, "*")
		if !wildcard && anchored {
			return strings.HasSuffix(path, piece)
		}
		i := strings.Index(path, piece)
		if i < 0 {
			return false
		}
		path = path[i+len(piece):]
	}
	return !anchored || path == ""
}

// normalizePattern brings a pattern into the form of normalize, except for the characters with a
// meaning: "*", and "$" at the end. Encoded, they have none (section 2.2.3).
func normalizePattern(s string) string {
	s, anchored := strings.CutSuffix(s, "$")
	pieces := strings.Split(s, "*")
	for i := range pieces {
		pieces[i] = normalize(pieces[i])
	}
	s = strings.Join(pieces, "*")
	if anchored {
		s += "$"
	}
	return s
}

// normalize brings a path into its normal form (section 2.2.2): unreserved characters are decoded,
// and all others that are percent-encoded, or have no place or a special meaning, are encoded in
// upper case.
func normalize(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c, literal := s[i], "/?:@!&'()+,;=%"
		if c == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				c, literal = byte(n), ""
				i += 2
			}
		}
		if isUnreserved(c) || strings.IndexByte(literal, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' ||
		c == '~'
}
