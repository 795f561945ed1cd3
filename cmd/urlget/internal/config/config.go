// Package config reads the configuration file of the command. Each line is a long flag. Lines before
// the first section apply to all URLs; sections apply to a host or scheme in brackets.
package config

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxConfig limits the size of the configuration file, in bytes.
const maxConfig = 1 << 20

// A File is a configuration file. The methods of a nil File do nothing.
type File struct {
	path     string // "" if there is no file
	global   []line
	sections []section
	applied  []line // lines of global that the command line does not override
}

type line struct {
	number      int
	name, value string
	hasValue    bool // the flag has a value
}

type section struct {
	host, scheme string // exactly one is set
	title        string // as written
	lines        []line
}

func locate(o *flags.Config) (path string, named bool) {
	switch env := os.Getenv("URLGET_CONFIG"); {
	case o.None:
		return "", false
	case o.File != "":
		return o.File, true
	case env != "":
		return env, true
	}
	return flags.ConfigFile("config"), false
}

// Read reads the configuration file, if there is one.
func Read(o *flags.Config, table flags.Table) (*File, error) {
	path, named := locate(o)
	if path == "" {
		return &File{}, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return &File{}, nil
	}
	if err != nil {
		return nil, failure.File(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, failure.File(err)
	}
	c := &File{path: path}
	if err := c.parse(io.LimitReader(f, maxConfig+1), table); err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return c, c.checkSecrets(table)
	}
	return c, nil
}

// lineError returns an error about a line. It does not quote the line, which may contain a secret.
func (c *File) lineError(number int, format string, args ...any) error {
	return failure.Usagef("%s:%d: %s", c.path, number, fmt.Sprintf(format, args...))
}

func (c *File) parse(r io.Reader, table flags.Table) error {
	lines := bufio.NewScanner(r)
	size, n := 0, 1
	for ; lines.Scan(); n++ {
		if size += len(lines.Bytes()) + 1; size > maxConfig {
			return c.lineError(n, "the file is larger than %d bytes", maxConfig)
		}
		// Some editors write a byte order mark.
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		switch {
		case text == "" || text[0] == '#':
		case strings.ContainsRune(text, 0):
			return c.lineError(n, "the line contains a NUL")
		case text[0] == '[':
			s, ok := parseSection(text)
			if !ok {
				return c.lineError(n, "a section must be [HOST] or [SCHEME:]")
			}
			c.sections = append(c.sections, s)
		default:
			l := parseLine(text)
			l.number = n
			if c.sections == nil {
				c.global = append(c.global, l)
				continue
			}
			if !table.Find(l.name).PerURL {
				return c.lineError(n, "--%s applies to all URLs and must precede the first [section]",
					fetch.Printable(l.name))
			}
			last := &c.sections[len(c.sections)-1]
			last.lines = append(last.lines, l)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return c.lineError(n, "the line is too long")
	} else if err != nil {
		return failure.File(err)
	}
	return nil
}

// parseLine parses "name", "name value" or "name = value", with optional leading dashes.
func parseLine(text string) line {
	text = strings.TrimPrefix(text, "--")
	i := strings.IndexAny(text, " \t=")
	if i < 0 {
		return line{name: text}
	}
	value := strings.TrimSpace(text[i:])
	value = strings.TrimSpace(strings.TrimPrefix(value, "="))
	return line{name: text[:i], value: value, hasValue: true}
}

func parseSection(text string) (section, bool) {
	name, ok := strings.CutSuffix(strings.TrimPrefix(text, "["), "]")
	s := section{title: text}
	if scheme, isScheme := strings.CutSuffix(name, ":"); isScheme && !strings.Contains(scheme, ":") {
		u, err := uri.Parse(name + "x")
		s.scheme = u.Scheme()
		return s, ok && err == nil && s.scheme != ""
	}
	if strings.Contains(name, ":") && !strings.HasPrefix(name, "[") {
		name = "[" + name + "]" // an IPv6 address
	}
	u, err := uri.ParseLoose("//" + name)
	s.host = u.Host()
	return s, ok && err == nil && s.host != "" && u.Port(0) == 0 && u.Path() == ""
}

func (s *section) matches(u uri.URI) bool {
	if s.scheme != "" {
		return u.Scheme() == s.scheme
	}
	return u.Host() == s.host
}

func (c *File) checkSecrets(table flags.Table) error {
	for _, l := range c.all() {
		if l.secret(table) {
			err := fmt.Errorf("%s:%d: the file contains a secret but is readable by other users",
				c.path, l.number)
			return &fetch.Error{Code: fetch.ErrFile, Err: err, Hint: "run chmod 600 " + c.path}
		}
	}
	return nil
}

// HasSecrets reports whether the file contains credentials.
func (c *File) HasSecrets(table flags.Table) bool {
	return c != nil && slices.ContainsFunc(c.all(), func(l line) bool { return l.secret(table) })
}

func (c *File) all() []line {
	all := slices.Clone(c.global)
	for _, s := range c.sections {
		all = append(all, s.lines...)
	}
	return all
}

func (l *line) secret(table flags.Table) bool {
	secret := table.Find(l.name).Secret
	return secret != nil && secret(l.value)
}

// Apply sets the flags of the file that the command line does not set. The table is that of o.
func (c *File) Apply(cmd *cobra.Command, o *flags.Options, table flags.Table) error {
	set := cmd.Flags()
	onLine := make(map[string]bool)
	set.Visit(func(f *pflag.Flag) { onLine[f.Name] = true })
	typed := func(name string) bool { return onLine[name] }
	has := func(name string) bool {
		sets := func(l line) bool { return l.name == name && parseBool(l.value) != "false" }
		return typed(name) || slices.ContainsFunc(c.global, sets)
	}
	for _, l := range c.global {
		f := set.Lookup(l.name)
		switch {
		case table.Find(l.name).CommandLine:
			return c.lineError(l.number, "--%s is allowed only on the command line", l.name)
		case f == nil && cmd.Root().Flags().Lookup(l.name) == nil:
			return c.unknown(l, table, cmd.Root().Flags())
		case f == nil || typed(l.name) || o.Overridden(table, l.name, typed, has):
			continue
		case !l.hasValue && f.NoOptDefVal == "":
			return c.lineError(l.number, "--%s requires a value", l.name)
		case !l.hasValue:
			l.value = f.NoOptDefVal
		case f.Value.Type() == "bool":
			if l.value = parseBool(l.value); l.value != "true" && l.value != "false" {
				return c.lineError(l.number, "--%s: must be yes, no or empty for yes", l.name)
			}
		}
		if err := set.Set(l.name, l.value); err != nil {
			return c.lineError(l.number, "--%s: %v", l.name, withoutValue(err))
		}
		c.applied = append(c.applied, l)
	}
	return c.checkSections()
}

// parseBool normalizes a boolean value such as "yes", "on" or "".
func parseBool(word string) string {
	switch word {
	case "yes", "on":
		return "true"
	case "no", "off":
		return "false"
	}
	return word
}

func (c *File) unknown(l line, table flags.Table, set *pflag.FlagSet) error {
	if letter, ok := strings.CutPrefix(l.name, "-"); ok && len(letter) == 1 {
		if f := set.ShorthandLookup(letter); f != nil {
			text := fmt.Sprintf("%s:%d: use the long name of the flag -%s", c.path, l.number, letter)
			return failure.Hinted(text, "did you mean --"+f.Name+"?")
		}
	}
	err := failure.Usagef("%s:%d: unknown flag --%s", c.path, l.number, fetch.Printable(l.name))
	if wrong, ok := table.Unknown("--"+strings.TrimLeft(l.name, "-"), set).(*failure.Usage); ok {
		err.Hint = wrong.Hint
	} else if near := flags.Nearest(l.name, set); near != "" {
		err.Hint = "did you mean --" + near + "?"
	}
	return err
}

func withoutValue(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	if wrong := (*strconv.NumError)(nil); errors.As(err, &wrong) {
		return wrong.Err
	}
	return err
}

// WithConfigHint adds a hint to a usage error that the file also sets flags.
func (c *File) WithConfigHint(err error) error {
	if c == nil || len(c.applied) == 0 {
		return err
	}
	if wrong := (*failure.Usage)(nil); errors.As(err, &wrong) && wrong.Hint == "" {
		return failure.Hinted(wrong.Text, "settings in "+c.path+" also apply; use --no-config to ignore them")
	}
	return err
}

// Describe returns the lines that apply to u, as FILE:LINE and the flag. For a zero u, it returns the
// lines that apply to all URLs.
func (c *File) Describe(u uri.URI) []string {
	var list []string
	for _, l := range c.applied {
		list = append(list, fmt.Sprintf("%s:%d --%s", c.path, l.number, l.name))
	}
	for _, s := range c.sections {
		for _, l := range s.lines {
			if u.IsZero() || s.matches(u) {
				list = append(list, fmt.Sprintf("%s:%d %s --%s", c.path, l.number, s.title, l.name))
			}
		}
	}
	return list
}

// DescribeAll returns all lines in the format of Describe.
func (c *File) DescribeAll() []string {
	c.applied = c.global
	return c.Describe(uri.URI{})
}

// Applied reports whether a flag is set by the file and not by the command line.
func (c *File) Applied(name string) bool {
	return slices.ContainsFunc(c.applied, func(l line) bool { return l.name == name })
}
