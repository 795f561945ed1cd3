package hsts

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urlget/urlget/internal/atomicfile"
	"github.com/urlget/urlget/internal/filelock"
)

// maxFile limits the bytes that are read of a file. A line has at most maxLine.
const (
	maxFile = 4 << 20
	maxLine = 1 << 10
)

const heading = `# HSTS 1.0 Known Hosts database for GNU Wget.
# Edit at your own risk.
# <hostname>	<port>	<incl. subdomains>	<created>	<max-age>
`

// Load adds the hosts in the file at path. Lines that it does not understand are ignored, but a file of
// such lines only is an error. A missing file is an error that matches fs.ErrNotExist.
func (s *Store) Load(path string) error {
	hosts, err := readFile(path)
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, h := range hosts {
		s.set(name, h)
	}
	return err
}

func readFile(path string) (map[string]host, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	hosts, err := read(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return hosts, err
}

var errFormat = errors.New("not a file of hosts in wget's format")

// read reads lines of five fields. Their port is ignored: a host is known for all ports (RFC 6797,
// section 8.3), but wget repeats it for each.
func read(r io.Reader) (map[string]host, error) {
	hosts := make(map[string]host)
	now := time.Now()
	good, bad := 0, 0
	lines := bufio.NewScanner(io.LimitReader(r, maxFile))
	lines.Buffer(nil, maxLine)
	for lines.Scan() && len(hosts) < maxHosts {
		fields := strings.Fields(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		name, h, ok := readLine(fields)
		if !ok {
			bad++
			continue
		}
		good++
		if old := hosts[name]; !h.over(now) && !h.created.After(now) && old.created.Before(h.created) {
			hosts[name] = h
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if good == 0 && bad > 0 {
		return nil, errFormat
	}
	return hosts, nil
}

func readLine(fields []string) (name string, h host, ok bool) {
	if len(fields) != 5 {
		return "", h, false
	}
	name, ok = canonical(fields[0])
	created, err := strconv.ParseInt(fields[3], 10, 64)
	age, isAge := seconds(fields[4])
	h = host{created: time.Unix(created, 0), maxAge: age, subdomains: fields[2] == "1"}
	return name, h, ok && err == nil && isAge
}

// Save writes what was observed since the last Load or Save to the file at path, and keeps what
// other processes wrote there. It replaces the file atomically, and creates it and its directory for the
// user alone. If nothing was observed, Save does nothing.
func (s *Store) Save(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.changed) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// Without a lock, a host that another process adds at the same moment may be lost.
	defer filelock.Guard(path)()
	merged, err := readFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all := Store{hosts: merged}
	for name := range s.changed {
		if old, ok := merged[name]; !ok || !old.created.After(s.hosts[name].created) {
			all.set(name, s.hosts[name])
		}
	}
	if err := atomicfile.WriteFile(path, []byte(all.text()), 0o600); err != nil {
		return err
	}
	s.changed = nil
	return nil
}

func (s *Store) text() string {
	var b strings.Builder
	b.WriteString(heading)
	now := time.Now()
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		h := s.hosts[name]
		if h.over(now) {
			continue
		}
		subdomains := 0
		if h.subdomains {
			subdomains = 1
		}
		fmt.Fprintf(&b, "%s\t0\t%d\t%d\t%d\n", name, subdomains, h.created.Unix(), h.maxAge/time.Second)
	}
	return b.String()
}
