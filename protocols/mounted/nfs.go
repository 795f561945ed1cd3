package mounted

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/driver/wire"
	"github.com/urlget/urlget/fetch/uri"
)

const nfsPort = 2049

// export locates nfs://HOST/PATH in the mount table. One or two slashes after the host have the same
// meaning, because the directory of the public file handle (RFC 2224, section 3) is unknown and
// usually the root.
func (o Options) export(u uri.URI) (dir, rest string, err error) {
	name, err := uri.Unescape(u.URLPath())
	if err != nil {
		return "", "", err
	}
	f, err := os.Open(o.Mounts)
	if err != nil {
		return "", "", notMounted(fmt.Errorf("cannot read the mount table: %w", err))
	}
	defer f.Close()
	all, err := parseMounts(f)
	if err != nil {
		return "", "", fetch.ErrFile.Errorf("%s: %w", o.Mounts, err)
	}
	name = path.Clean("/" + name)
	var best mount
	for _, m := range all {
		// Later mounts hide earlier ones.
		if m.serves(u) && within(name, m.export) && len(m.export) >= len(best.export) {
			best = m
		}
	}
	if best.dir == "" {
		return "", "", notMounted(fmt.Errorf("no mounted export of %s contains %s", u.Host(), name))
	}
	return best.dir, strings.TrimPrefix(name, best.export), nil
}

func notMounted(err error) error {
	return &fetch.Error{Code: fetch.ErrNotRetrievable, Err: err, Hint: "mount the file system first"}
}

type mount struct {
	host, address string // the host in the mount table, and its address if known
	port          uint16
	export, dir   string
}

func (m mount) serves(u uri.URI) bool {
	return u.Port(nfsPort) == m.port && (u.Host() == m.host || u.Host() == m.address)
}

func within(name, dir string) bool {
	return dir == "/" || name == dir || strings.HasPrefix(name, dir+"/")
}

func parseMounts(r io.Reader) ([]mount, error) {
	var all []mount
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || fields[2] != "nfs" && fields[2] != "nfs4" {
			continue
		}
		source, dir := unescapeOctal(fields[0]), unescapeOctal(fields[1])
		i := strings.Index(source, ":/")
		if i < 0 || !path.IsAbs(dir) || wire.CheckLine(dir) != nil { // a URL cannot contain a line break
			continue
		}
		m := mount{host: canonical(source[:i]), port: nfsPort, export: path.Clean(source[i+1:]), dir: dir}
		for opt := range strings.SplitSeq(fields[3], ",") {
			name, value, _ := strings.Cut(opt, "=")
			switch port, err := strconv.ParseUint(value, 10, 16); {
			case name == "addr":
				m.address = canonical(value)
			case name == "port" && err == nil && port != 0:
				m.port = uint16(port)
			}
		}
		all = append(all, m)
	}
	return all, lines.Err()
}

// canonical returns a host in the form of uri.URI.Host, or "" if it is invalid.
func canonical(host string) string {
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	u, err := uri.Parse("nfs://" + host + "/")
	if err != nil {
		return ""
	}
	return u.Host()
}

// unescapeOctal decodes escapes such as "\040", which represent spaces and backslashes.
func unescapeOctal(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
