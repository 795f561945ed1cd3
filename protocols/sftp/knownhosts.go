package sftp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

// readKnownHosts reads known_hosts files. Like OpenSSH, it skips lines that it cannot parse, with a
// warning. Original has the names of files that were read as a copy without these lines.
func (l *login) readKnownHosts(files []string) (db *knownhosts.HostKeyDB,
	original map[string]string, err error) {
	if db, err = knownhosts.NewDB(files...); err == nil {
		return db, nil, nil
	}
	original = map[string]string{}
	readable := make([]string, len(files))
	for i, name := range files {
		clean, broken, copyErr := withoutBrokenLines(name)
		if copyErr != nil {
			return nil, nil, copyErr
		}
		readable[i] = name
		if len(broken) == 0 {
			continue
		}
		defer os.Remove(clean)
		readable[i], original[clean] = clean, name
		l.driver.env.Logger().Warn("skipped malformed lines of known host keys", "file", name,
			"lines", broken)
	}
	if len(original) == 0 {
		return nil, nil, err
	}
	db, err = knownhosts.NewDB(readable...)
	return db, original, err
}

// withoutBrokenLines copies a file, with empty lines in place of those that cannot be parsed, and
// returns their numbers. If there are none, it creates no copy.
func withoutBrokenLines(name string) (clean string, broken []int, err error) {
	in, err := os.Open(name)
	if err != nil {
		return "", nil, err
	}
	defer in.Close()
	var text bytes.Buffer
	lines := bufio.NewReader(io.LimitReader(in, maxKnownHosts))
	for n := 1; err == nil; n++ {
		var line []byte
		line, err = lines.ReadBytes('\n')
		if !isKnownHostsLine(line) {
			broken = append(broken, n)
			line = []byte("\n")
		}
		text.Write(line)
	}
	if err != io.EOF {
		return "", nil, err
	}
	if len(broken) == 0 {
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

func isKnownHostsLine(line []byte) bool {
	if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
		return true
	}
	_, hosts, _, _, _, err := ssh.ParseKnownHosts(line)
	return err == nil && len(hosts) > 0
}
