// Package sshconfig reads what a client needs to know out of a user's ssh_config: HostName, Port,
// User, IdentityFile and ProxyJump, by Host.
//
// Blocks that begin with Match are passed over, as are Include and all other keywords. As ssh has
// it, the first value that is found for a host holds, but for IdentityFile, of which all do.
package sshconfig

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The bounds of a file: a line in bytes, and how many keywords are kept.
const (
	maxLine     = 64 << 10
	maxSettings = 10_000
)

// A Config is what a file says.
type Config struct{ settings []setting }

// A setting is a line with a keyword that matters, and the hosts that it is for.
type setting struct {
	hosts          []string // patterns; nil for all
	keyword, value string
}

// A Host is what a file says of one host. What it does not say is zero.
type Host struct {
	HostName      string // the name to connect to
	Port          uint16
	User          string
	IdentityFiles []string // as written, "~" and "%" included
	ProxyJump     []string // [user@]host[:port], in the order of the way there
}

// keywords are those that are read, in lower case.
var keywords = map[string]bool{"hostname": true, "port": true, "user": true, "identityfile": true, "proxyjump": true}

// Parse reads a file.
func Parse(r io.Reader) (*Config, error) {
	c := &Config{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var hosts []string
	skip := false // within a block that begins with Match
	for n := 1; lines.Scan(); n++ {
		keyword, args, err := split(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case keyword == "":
		case len(args) == 0 && (keyword == "host" || keywords[keyword]):
			return nil, fmt.Errorf("line %d: %s without a value", n, keyword)
		case keyword == "host":
			hosts, skip = args, false
		case keyword == "match":
			skip = true
		case skip || !keywords[keyword]:
		case len(c.settings) == maxSettings:
			return nil, errors.New("too many lines")
		default:
			if keyword == "port" {
				if _, err := parsePort(args[0]); err != nil {
					return nil, fmt.Errorf("line %d: %w", n, err)
				}
			}
			c.settings = append(c.settings, setting{hosts, keyword, args[0]})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// split divides a line into its keyword, in lower case, and its arguments. A keyword may be
// followed by "=", an argument may stand in double quotes, and "#" begins a comment.
func split(line string) (keyword string, args []string, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", nil, nil
	}
	if strings.ContainsRune(line, 0) {
		return "", nil, errors.New("a NUL")
	}
	end := strings.IndexAny(line, " \t=")
	if end < 0 {
		return strings.ToLower(line), nil, nil
	}
	keyword, rest := strings.ToLower(line[:end]), strings.TrimLeft(line[end:], " \t")
	rest = strings.TrimPrefix(rest, "=")
	for {
		rest = strings.TrimLeft(rest, " \t")
		switch {
		case rest == "" || rest[0] == '#':
			return keyword, args, nil
		case rest[0] == '"':
			arg, after, ok := strings.Cut(rest[1:], `"`)
			if !ok {
				return "", nil, errors.New("a quote is not closed")
			}
			args, rest = append(args, arg), after
		default:
			end := strings.IndexAny(rest, " \t")
			if end < 0 {
				end = len(rest)
			}
			args, rest = append(args, rest[:end]), rest[end:]
		}
	}
}

// Lookup returns what the file says of a host, named as the user did.
func (c *Config) Lookup(host string) Host {
	var h Host
	jump := false // ProxyJump was found, be it "none"
	for _, s := range c.settings {
		if !matchesAny(s.hosts, host) {
			continue
		}
		switch s.keyword {
		case "hostname":
			if h.HostName == "" {
				h.HostName = expandHost(s.value, host)
			}
		case "port":
			if h.Port == 0 {
				h.Port, _ = parsePort(s.value)
			}
		case "user":
			if h.User == "" {
				h.User = s.value
			}
		case "identityfile":
			h.IdentityFiles = append(h.IdentityFiles, s.value)
		case "proxyjump":
			if !jump && !strings.EqualFold(s.value, "none") {
				h.ProxyJump = strings.Split(s.value, ",")
			}
			jump = true
		}
	}
	return h
}

// expandHost puts the name that the user wrote in the place of %h.
func expandHost(value, host string) string {
	return strings.NewReplacer("%%", "%", "%h", host).Replace(value)
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a port", text)
	}
	return uint16(n), nil
}

// matchesAny reports whether one of the patterns matches host, and none that begins with "!" does.
// Nil matches all.
func matchesAny(patterns []string, host string) bool {
	if patterns == nil {
		return true
	}
	found := false
	for _, p := range patterns {
		p, not := strings.CutPrefix(p, "!")
		if matches(strings.ToLower(p), strings.ToLower(host)) {
			if not {
				return false
			}
			found = true
		}
	}
	return found
}

// matches reports whether a pattern, in which "*" stands for any characters and "?" for one,
// matches s. It takes no more than the product of their lengths.
func matches(pattern, s string) bool {
	star, mark := -1, 0 // the last star, and how far s was when it came
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
