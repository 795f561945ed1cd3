// Package sshconfig reads the settings of a user's ssh_config that name hosts, users, keys and
// algorithms.
//
// Include is supported, also within Host blocks. Match blocks and all other keywords are ignored. As
// in ssh, the first value found for a host applies; values of IdentityFile and CertificateFile
// accumulate.
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

	"github.com/urlget/urlget/protocols/internal/glob"
)

// Limits of a file together with its included files.
const (
	maxLine     = 64 << 10 // bytes of a line
	maxSize     = 1 << 20  // bytes of all files
	maxSettings = 10_000
	maxFiles    = 1000 // included files
	maxDepth    = 16   // of includes, as in ssh
)

// A Config holds the settings of a parsed file.
type Config struct{ settings []setting }

type setting struct {
	hosts          [][]string // the patterns of all enclosing Host lines, each of which must match
	keyword, value string
}

// A Host holds the settings for one host. Unset fields are zero.
type Host struct {
	HostName  string // the name to connect to
	Port      uint16
	User      string
	ProxyJump []string // [user@]host[:port], in connection order

	// As written, with "~" and "%" tokens unexpanded.
	IdentityFiles, CertificateFiles []string
	IdentityAgent                   string // a socket, "none", "SSH_AUTH_SOCK" or "$" and a variable
	IdentitiesOnly                  bool   // only keys of files are used, though the agent may hold more

	KexAlgorithms, Ciphers, MACs                Algorithms
	HostKeyAlgorithms, PubkeyAcceptedAlgorithms Algorithms
}

// keywords are the supported keywords besides Host, Match and Include, in lower case. Each sets a value for
// host, which is the name that the user wrote.
var keywords = map[string]func(h *Host, value, host string){
	"hostname": func(h *Host, value, host string) {
		h.HostName = strings.NewReplacer("%%", "%", "%h", host).Replace(value)
	},
	"port":         func(h *Host, value, _ string) { h.Port, _ = parsePort(value) },
	"user":         func(h *Host, value, _ string) { h.User = value },
	"identityfile": func(h *Host, value, _ string) { h.IdentityFiles = append(h.IdentityFiles, value) },
	"certificatefile": func(h *Host, value, _ string) {
		h.CertificateFiles = append(h.CertificateFiles, value)
	},
	"identityagent": func(h *Host, value, _ string) { h.IdentityAgent = value },
	"identitiesonly": func(h *Host, value, _ string) {
		h.IdentitiesOnly = strings.EqualFold(value, "yes") || strings.EqualFold(value, "true")
	},
	"proxyjump": func(h *Host, value, _ string) {
		if !strings.EqualFold(value, "none") {
			h.ProxyJump = strings.Split(value, ",")
		}
	},
	"kexalgorithms":     func(h *Host, value, _ string) { h.KexAlgorithms = Algorithms(value) },
	"ciphers":           func(h *Host, value, _ string) { h.Ciphers = Algorithms(value) },
	"macs":              func(h *Host, value, _ string) { h.MACs = Algorithms(value) },
	"hostkeyalgorithms": func(h *Host, value, _ string) { h.HostKeyAlgorithms = Algorithms(value) },
	"pubkeyacceptedalgorithms": func(h *Host, value, _ string) {
		h.PubkeyAcceptedAlgorithms = Algorithms(value)
	},
}

// Parse reads a file and the files it includes. Home is the user's home directory: "~/" in the names
// of included files stands for it, and other relative names are below home/.ssh. If home is "", files
// with such names are ignored.
func Parse(r io.Reader, home string) (*Config, error) {
	p := &parser{config: &Config{}, home: home, remaining: maxSize}
	if err := p.file(r, nil, 0); err != nil {
		return nil, err
	}
	return p.config, nil
}

type parser struct {
	config    *Config
	home      string
	remaining int // bytes that may still be read
	files     int // included so far
}

// file reads a file. Its settings apply to hosts, further restricted by its own Host blocks.
func (p *parser) file(r io.Reader, hosts [][]string, depth int) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	block, skip := hosts, false // skip is set within a Match block
	for n := 1; lines.Scan(); n++ {
		if p.remaining -= len(lines.Bytes()) + 1; p.remaining < 0 {
			return fmt.Errorf("more than %d bytes", maxSize)
		}
		keyword, args, err := split(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if keyword == "pubkeyacceptedkeytypes" { // its name before OpenSSH 8.5
			keyword = "pubkeyacceptedalgorithms"
		}
		switch {
		case err != nil:
		case len(args) == 0 && (keyword == "host" || keyword == "include" || keywords[keyword] != nil):
			err = fmt.Errorf("%s without a value", keyword)
		case keyword == "host":
			block, skip = append(hosts[:len(hosts):len(hosts)], args), false
		case keyword == "match":
			skip = true
		case skip:
		case keyword == "include":
			err = p.include(args, block, depth+1)
		case keywords[keyword] != nil:
			err = p.config.add(setting{block, keyword, args[0]})
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return lines.Err()
}

// include reads the files that match the patterns. It ignores missing and irregular files.
func (p *parser) include(patterns []string, hosts [][]string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("includes are nested more than %d deep", maxDepth)
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

func (p *parser) open(name string, hosts [][]string, depth int) error {
	if p.files++; p.files > maxFiles {
		return fmt.Errorf("more than %d included files", maxFiles)
	}
	info, err := os.Stat(name) // opening a pipe would wait for its writer
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

// split splits a line into its keyword, in lower case, and its arguments. The keyword may be
// followed by "=", arguments may be in double quotes, and "#" begins a comment.
func split(line string) (keyword string, args []string, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", nil, nil
	}
	if strings.ContainsRune(line, 0) {
		return "", nil, errors.New("NUL character")
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
				return "", nil, errors.New("unterminated quote")
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

// Lookup returns the settings for host, which is the name that the user wrote.
func (c *Config) Lookup(host string) Host {
	var h Host
	found := map[string]bool{}
	for _, s := range c.settings {
		if slices.ContainsFunc(s.hosts, func(patterns []string) bool { return !matchesAny(patterns, host) }) {
			continue
		}
		if first := !found[s.keyword]; first || accumulates(s.keyword) {
			found[s.keyword] = true
			keywords[s.keyword](&h, s.value, host)
		}
	}
	return h
}

func accumulates(keyword string) bool {
	return keyword == "identityfile" || keyword == "certificatefile"
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not a port", text)
	}
	return uint16(n), nil
}

// matchesAny reports whether a pattern matches host and no pattern that begins with "!" does.
func matchesAny(patterns []string, host string) bool {
	found := false
	for _, p := range patterns {
		p, not := strings.CutPrefix(p, "!")
		if glob.Match(strings.ToLower(p), strings.ToLower(host)) {
			if not {
				return false
			}
			found = true
		}
	}
	return found
}
