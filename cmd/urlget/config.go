package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// maxConfig bounds the configuration file in bytes.
const maxConfig = 1 << 20

// A config is what the configuration file says: one long flag a line, first those for all URLs,
// then those for some, below a host or a scheme in brackets.
type config struct {
	path     string // "" if there is no file
	global   []configLine
	sections []configSection
	counted  []configLine // of global, those that the command line left standing
}

// A configLine is one flag.
type configLine struct {
	number      int
	name, value string
	given       bool // there is a value
}

// A configSection is for the URLs of a host or of a scheme.
type configSection struct {
	host, scheme string // one of them
	title        string // as it is written
	lines        []configLine
}

// addConfigFlags defines the flags about the configuration file.
func addConfigFlags(f *pflag.FlagSet, s *settings) {
	f.StringVar(&s.configFile, "config", "", "take settings from `FILE`, not from ~/.config/urlget/config")
	f.BoolVar(&s.noConfig, "no-config", false, "take no settings from a file")
}

// configPath returns the file to read, and whether the user named it.
func (s *settings) configPath() (path string, named bool) {
	switch env := os.Getenv("URLGET_CONFIG"); {
	case s.noConfig:
		return "", false
	case s.configFile != "":
		return s.configFile, true
	case env != "":
		return env, true
	}
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", false
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "urlget", "config"), false
}

// readConfig reads the configuration file, if there is one.
func (s *settings) readConfig() (*config, error) {
	path, named := s.configPath()
	if path == "" {
		return &config{}, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return &config{}, nil
	}
	if err != nil {
		return nil, fileError(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fileError(err)
	}
	c := &config{path: path}
	if err := c.parse(io.LimitReader(f, maxConfig+1)); err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return c, c.checkSecrets()
	}
	return c, nil
}

// wrong is an error about a line. It does not repeat the line, which may hold a secret.
func (c *config) wrong(line int, format string, args ...any) error {
	return usage("%s:%d: %s", c.path, line, fmt.Sprintf(format, args...))
}

func (c *config) parse(r io.Reader) error {
	lines := bufio.NewScanner(r)
	size, n := 0, 1
	for ; lines.Scan(); n++ {
		if size += len(lines.Bytes()) + 1; size > maxConfig {
			return c.wrong(n, "the file has more than %d bytes", maxConfig)
		}
		text := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff")) // with which some editors begin
		switch {
		case text == "" || text[0] == '#':
		case strings.ContainsRune(text, 0):
			return c.wrong(n, "there is a NUL in it")
		case text[0] == '[':
			section, ok := parseSection(text)
			if !ok {
				return c.wrong(n, "want [HOST] or [SCHEME:]")
			}
			c.sections = append(c.sections, section)
		default:
			line := parseSetting(text)
			line.number = n
			if c.sections == nil {
				c.global = append(c.global, line)
				continue
			}
			if !slices.Contains(perURL, line.name) {
				return c.wrong(n, "--%s is for all URLs and goes above the first [section]", fetch.Printable(line.name))
			}
			last := &c.sections[len(c.sections)-1]
			last.lines = append(last.lines, line)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return c.wrong(n, "the line is too long")
	} else if err != nil {
		return fileError(err)
	}
	return nil
}

// parseSetting reads "name", "name value", "name = value" and the same with dashes before it.
func parseSetting(text string) configLine {
	text = strings.TrimPrefix(text, "--")
	i := strings.IndexAny(text, " \t=")
	if i < 0 {
		return configLine{name: text}
	}
	value := strings.TrimSpace(text[i:])
	value = strings.TrimSpace(strings.TrimPrefix(value, "="))
	return configLine{name: text[:i], value: value, given: true}
}

func parseSection(text string) (configSection, bool) {
	name, ok := strings.CutSuffix(strings.TrimPrefix(text, "["), "]")
	s := configSection{title: text}
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

// matches reports whether the section is for u.
func (s *configSection) matches(u uri.URI) bool {
	if s.scheme != "" {
		return u.Scheme() == s.scheme
	}
	return u.Host() == s.host
}

// checkSecrets refuses a file that others may read if there is a password in it.
func (c *config) checkSecrets() error {
	for _, line := range c.all() {
		if line.secret() {
			return &fetch.Error{Code: fetch.ErrFile, Err: fmt.Errorf("%s:%d: there is a secret in it, and others may read the file", c.path, line.number),
				Hint: "chmod 600 " + c.path}
		}
	}
	return nil
}

// hasSecrets reports whether there is a login in the file.
func (c *config) hasSecrets() bool {
	return c != nil && slices.ContainsFunc(c.all(), func(l configLine) bool { return l.secret() })
}

// all returns the lines, with those of sections.
func (c *config) all() []configLine {
	all := slices.Clone(c.global)
	for _, s := range c.sections {
		all = append(all, s.lines...)
	}
	return all
}

func (l *configLine) secret() bool {
	switch l.name {
	case "password":
		return true
	case "user":
		return strings.Contains(l.value, ":")
	case "proxy", "gateway":
		return strings.Contains(l.value, "@")
	case "header":
		name, _, _ := strings.Cut(l.value, ":")
		return fetch.IsSecretField(strings.TrimSpace(name))
	}
	return false
}

// configure sets the flags that the configuration file gives and the command line does not.
func (a *app) configure(cmd *cobra.Command) error {
	c, err := a.set.readConfig()
	if err != nil {
		return err
	}
	a.config = c
	flags := cmd.Flags()
	typed := make(map[string]bool)
	flags.Visit(func(f *pflag.Flag) { typed[f.Name] = true })
	for _, line := range c.global {
		f := flags.Lookup(line.name)
		switch {
		case line.name == "config" || line.name == "no-config" || line.name == "help" || line.name == "version":
			return c.wrong(line.number, "--%s is for the command line", line.name)
		case f == nil && cmd.Root().Flags().Lookup(line.name) == nil:
			return c.unknown(line, cmd.Root().Flags())
		case f == nil || typed[line.name] || c.givesWay(line.name, typed, &a.set):
			continue
		case !line.given && f.NoOptDefVal == "":
			return c.wrong(line.number, "--%s needs a value", line.name)
		case !line.given:
			line.value = f.NoOptDefVal
		case f.Value.Type() == "bool":
			if line.value = truth(line.value); line.value != "true" && line.value != "false" {
				return c.wrong(line.number, "--%s: want yes or no, or nothing for yes", line.name)
			}
		}
		if err := flags.Set(line.name, line.value); err != nil {
			return c.wrong(line.number, "--%s: %v", line.name, withoutValue(err))
		}
		c.counted = append(c.counted, line)
	}
	return c.checkSections()
}

// unknown is the error for what is no flag.
func (c *config) unknown(line configLine, flags *pflag.FlagSet) error {
	if letter, ok := strings.CutPrefix(line.name, "-"); ok && len(letter) == 1 && flags.ShorthandLookup(letter) != nil {
		return &usageError{fmt.Sprintf("%s:%d: flags have their long names here, and not -%s", c.path, line.number, letter),
			"did you mean --" + flags.ShorthandLookup(letter).Name + "?"}
	}
	err := usage("%s:%d: there is no --%s", c.path, line.number, fetch.Printable(line.name))
	if near := nearestFlag(line.name, flags); near != "" {
		err.hint = "did you mean --" + near + "?"
	}
	return err
}

// withoutValue returns the reason in an error of pflag, which repeats the value.
func withoutValue(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	if wrong := (*strconv.NumError)(nil); errors.As(err, &wrong) {
		return wrong.Err
	}
	return err
}

// blame adds to a mistake in the use of flags that some of them are from the file.
func (c *config) blame(err error) error {
	if wrong := (*usageError)(nil); c != nil && len(c.counted) > 0 && errors.As(err, &wrong) && wrong.hint == "" {
		return &usageError{wrong.text, "what " + c.path + " says counts too; --no-config leaves it out"}
	}
	return err
}

// describe tells which lines count for u: as FILE:LINE and the flag. A zero u means those for all.
func (c *config) describe(u uri.URI) []string {
	var list []string
	for _, line := range c.counted {
		list = append(list, fmt.Sprintf("%s:%d --%s", c.path, line.number, line.name))
	}
	for _, s := range c.sections {
		for _, line := range s.lines {
			if u.IsZero() || s.matches(u) {
				list = append(list, fmt.Sprintf("%s:%d %s --%s", c.path, line.number, s.title, line.name))
			}
		}
	}
	return list
}
