package sftp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"

	"github.com/urlget/urlget/protocols/internal/glob"
)

// readKnownHosts reads known_hosts files for a hop. Like OpenSSH, it skips lines that it cannot parse,
// with a warning. Original has the names of files that were read as an edited copy.
func (l *login) readKnownHosts(files []string) (db *knownhosts.HostKeyDB,
	original map[string]string, err error) {
	if db, err = knownhosts.NewDB(files...); err == nil && !slices.ContainsFunc(files, hasPortPatterns) {
		return db, nil, nil
	}
	original = map[string]string{}
	readable := make([]string, len(files))
	for i, name := range files {
		edited, broken, copyErr := editedCopy(name, strconv.Itoa(int(l.hop.port)))
		if copyErr != nil {
			return nil, nil, copyErr
		}
		readable[i] = name
		if edited == "" {
			continue
		}
		defer os.Remove(edited)
		readable[i], original[edited] = edited, name
		if len(broken) > 0 {
			l.driver.env.Logger().Warn("skipped malformed lines of known host keys", "file", name,
				"lines", broken)
		}
	}
	if len(original) == 0 {
		return db, nil, err
	}
	db, err = knownhosts.NewDB(readable...)
	return db, original, err
}

// editedCopy copies a file, with empty lines in place of those that cannot be parsed, whose numbers it
// returns, and with port in place of patterns that match it. If the copy would be equal, it creates
// none and returns "".
func editedCopy(name, port string) (edited string, broken []int, err error) {
	in, err := os.Open(name)
	if err != nil {
		return "", nil, err
	}
	defer in.Close()
	var text bytes.Buffer
	isEdited := false
	lines := bufio.NewReader(io.LimitReader(in, maxKnownHosts))
	for n := 1; err == nil; n++ {
		var line []byte
		line, err = lines.ReadBytes('\n')
		was := line
		if line = withPort(line, port); !isKnownHostsLine(line) {
			broken = append(broken, n)
			line = []byte("\n")
		}
		isEdited = isEdited || !bytes.Equal(line, was)
		text.Write(line)
	}
	if err != io.EOF {
		return "", nil, err
	}
	if !isEdited {
		return "", nil, nil
	}
	out, err := os.CreateTemp("", "known_hosts-*")
	if err != nil {
		return "", nil, err
	}
	_, err = out.Write(text.Bytes())
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(out.Name())
		return "", nil, err
	}
	return out.Name(), broken, nil
}

// portPattern is the pattern of a port behind a host, such as "[host.example]:*". Package knownhosts
// compares ports as text.
var portPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\]:[0-9]*[*?][0-9*?]*`)
})

// hasPortPatterns reports whether a file has a pattern of a port. A comment may look like one.
func hasPortPatterns(name string) bool {
	in, err := os.Open(name)
	if err != nil {
		return false
	}
	defer in.Close()
	return portPattern().MatchReader(bufio.NewReader(io.LimitReader(in, maxKnownHosts)))
}

// withPort replaces the patterns that match port. As in OpenSSH, they do not match the default port,
// which known_hosts files omit.
func withPort(line []byte, port string) []byte {
	if port == strconv.Itoa(defaultPort) {
		return line
	}
	return portPattern().ReplaceAllFunc(line, func(pattern []byte) []byte {
		if !glob.Match(string(pattern[len("]:"):]), port) {
			return pattern
		}
		return []byte("]:" + port)
	})
}

func isKnownHostsLine(line []byte) bool {
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
		return true
	}
	_, hosts, _, _, _, err := ssh.ParseKnownHosts(line)
	return err == nil && len(hosts) > 0
}
