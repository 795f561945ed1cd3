// Package sshconfig reads what a client needs to know out of a user's ssh_config: HostName, Port,
// User, IdentityFile and ProxyJump, by Host.
//
// Files that it includes are read too, also within Host blocks. Blocks that begin with
// Match are passed over, as are all other keywords. As ssh has it, the first value that is found for a
// host holds, except IdentityFile, of which all do.
package sshconfig

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The bounds of a file and of all that it includes: a line and all lines in bytes, how many keywords are
// kept, how many files are included, and how deep.
const (
	maxLine     = 64 << 10
	maxSize     = 1 << 20
	maxSettings = 10_000
	maxFiles    = 1000
	maxDepth    = 16 // as in ssh
)

// A Config is what a file says.
type Config struct{ settings []setting }

// A setting is a line with a keyword that matters, and the hosts that it is for.
type setting struct {
	hosts          [][]string // patterns, of each list of which one has to match
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

// Parse reads a file, and those that it includes. Home is the user's home directory: names of included
// files that are not absolute are below its .ssh, and "~/" stands for it. If it is "", these files are
// passed over.
func Parse(r io.Reader, home string) (*Config, error) {
	p := &parser{config: &Config{}, home: home, left: maxSize}
	if err := p.file(r, nil, 0); err != nil {
		return nil, err
	}
	return p.config, nil
}

// A parser reads a file and those that it includes.
type parser struct {
	config *Config
	home   string
	left   int // bytes that may come
	files  int // that were included
}

// file reads a file. What it says is for hosts, and for those of its own blocks among them.
func (p *parser) file(r io.Reader, hosts [][]string, depth int) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	block, skip := hosts, false // skip within a block that begins with Match
	for n := 1; lines.Scan(); n++ {
		if p.left -= len(lines.Bytes()) + 1; p.left < 0 {
			return fmt.Errorf("more than %d bytes", maxSize)
		}
		keyword, args, err := split(lines.Text())
		switch {
		case err != nil:
		case len(args) == 0 && (keyword == "host" || keyword == "include" || keywords[keyword]):
			err = fmt.Errorf("%s without a value", keyword)
		case keyword == "host":
			block, skip = append(hosts[:len(hosts):len(hosts)], args), false
		case keyword == "match":
			skip = true
		case skip:
		case keyword == "include":
			err = p.include(args, block, depth+1)
		case keywords[keyword]:
			err = p.config.add(setting{block, keyword, args[0]})
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

// include reads the files that match the patterns. Those that are not there, and what is not a regular
// file, are passed over.
func (p *parser) include(patterns []string, hosts [][]string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("included files include others more than %d deep", maxDepth)
	}
	for _, pattern := range patterns {
		if p.home == "" && !filepath.IsAbs(pattern) {
			continue
		}
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
			pattern = filepath.Join(p.home, rest)
		} else if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(p.home, ".ssh", pattern)
		}
		names, err := filepath.Glob(pattern)
		if err != nil {
			return fmt.Errorf("%s: %w", pattern, err)
		}
		for _, name := range names {
			if err := p.open(name, hosts, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// open reads an included file.
func (p *parser) open(name string, hosts [][]string, depth int) error {
	if p.files++; p.files > maxFiles {
		return fmt.Errorf("more than %d files are included", maxFiles)
	}
	info, err := os.Stat(name) // to open a pipe would wait for its writer
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.file(f, hosts, depth); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// add adds a setting, if its value is one.
func (c *Config) add(s setting) error {
	if s.keyword == "port" {
		if _, err := parsePort(s.value); err != nil {
			return err
		}
	}
	if len(c.settings) == maxSettings {
		return errors.New("too many settings")
	}
	c.settings = append(c.settings, s)
	return nil
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
		if slices.ContainsFunc(s.hosts, func(patterns []string) bool { return !matchesAny(patterns, host) }) {
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
func matchesAny(patterns []string, host string) bool {
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
