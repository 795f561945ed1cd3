package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
)

// maxSums limits the size of a checksum file, in bytes.
const maxSums = 4 << 20

// A sumFile is a checksum file named by --checksum, such as SHA256SUMS.
type sumFile struct {
	name  string
	lines []byte // nil until it is read
}

// parseChecksum parses --checksum: ALGO:HEX, ALGO=HEX, or a file or URL with checksums.
func parseChecksum(text string) (checksum string, file *sumFile) {
	checksum = checksumText(text)
	_, err := os.Stat(text)
	if download.CheckChecksum(checksum) != nil && (err == nil || strings.Contains(checksum, "://")) {
		return "", &sumFile{name: text}
	}
	return checksum, nil
}

// checksumText returns a checksum such as sha-256=HEX as ALGO:HEX.
func checksumText(text string) string {
	if algo, digits, ok := strings.Cut(text, "="); ok && !strings.ContainsAny(algo, ":/") {
		text = algo + ":" + digits
	}
	if algo, digits, ok := strings.Cut(text, ":"); ok {
		text = strings.ReplaceAll(strings.ToLower(algo), "-", "") + ":" + digits
	}
	return text
}

func (s *sumFile) checksum(ctx context.Context, client *fetch.Client, j *job.Job) error {
	if s == nil {
		return nil
	}
	if s.lines == nil {
		content, err := readSums(ctx, client, s.name)
		if err != nil {
			return err
		}
		s.lines = content
	}
	name := download.Name(j.URL, nil)
	sum, ok := findSum(s.lines, name)
	if !ok {
		return &fetch.Error{Code: fetch.ErrNotFound,
			Err: fmt.Errorf("%s has no checksum of %s", s.name, name)}
	}
	j.Checksum = sum
	return nil
}

func readSums(ctx context.Context, client *fetch.Client, name string) ([]byte, error) {
	if !strings.Contains(name, "://") {
		f, err := os.Open(name)
		if err != nil {
			return nil, failure.File(err)
		}
		defer f.Close()
		content, err := readAtMost(f, name, maxSums)
		return content, failure.File(err)
	}
	resp, err := client.Get(ctx, name)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return readAtMost(resp.Body, name, maxSums)
}

// findSum returns the checksum of the named file as ALGO:HEX. Lines have the format of sha256sum
// ("HEX  name", "HEX *name") or BSD ("SHA256 (name) = HEX"); a single line may be a bare checksum.
func findSum(lines []byte, name string) (string, bool) {
	s := bufio.NewScanner(bytes.NewReader(lines))
	s.Buffer(nil, maxSums+1)
	only, count := "", 0
	byLength := map[int]string{32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
	for s.Scan() {
		line := strings.TrimSpace(strings.TrimPrefix(s.Text(), "\ufeff"))
		if line == "" || line[0] == '#' {
			continue
		}
		count++
		digits, file, _ := strings.Cut(strings.TrimPrefix(line, `\`), " ")
		if _, rest, ok := strings.Cut(line, " ("); ok {
			if i := strings.LastIndex(rest, ") = "); i >= 0 {
				file, digits = rest[:i], rest[i+len(") = "):]
			}
		}
		sum := byLength[len(digits)] + ":" + digits
		if download.CheckChecksum(sum) != nil {
			continue
		}
		switch file = strings.TrimPrefix(strings.TrimLeft(file, " \t"), "*"); {
		case file == "":
			only = sum
		case path.Base(file) == name:
			return sum, true
		}
	}
	if count > 1 {
		only = ""
	}
	return only, only != ""
}
