package mirror

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/urlget/urlget/crawl"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// rewriteMenu writes a Gopher menu as a gophermap. The selectors of saved items become paths
// relative to the menu; servers add their own host and port. Other items are not changed.
func (m *mirror) rewriteMenu(w io.Writer, r io.Reader, base uri.URI, name string) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "." {
			continue
		}
		if _, err := io.WriteString(w, m.menuLine(line, base, name)+"\r\n"); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return &fetch.Error{Op: "convert", Code: fetch.ErrTooLarge, Err: err}
	}
	return nil
}

func (m *mirror) itemTarget(item uri.Gopher) string {
	u, err := item.URI()
	if err != nil {
		return ""
	}
	_, v, _, _ := m.followRedirects(u.WithoutPort(70))
	return v.Path
}

func (m *mirror) menuLine(line string, base uri.URI, name string) string {
	fields := strings.Split(line, "\t")
	if len(fields) < 4 || fields[0] == "" || fields[0][0] == 'i' {
		return line
	}
	port, err := strconv.ParseUint(strings.TrimSpace(fields[3]), 10, 16)
	if err != nil {
		return line
	}
	item := uri.Gopher{Host: fields[2], Port: uint16(port), Type: fields[0][0], Selector: fields[1]}
	if len(fields) > 4 && (fields[4] == "+" || fields[4] == "?") {
		item.Plus = fields[4]
	}
	to := m.itemTarget(item)
	if other, isRoot := crawl.OtherRoot(item); to == "" && isRoot {
		to = m.itemTarget(other)
	}
	if to == "" {
		return line
	}
	selector := relative(name, to)
	if fields[0][0] == '1' {
		selector = strings.TrimSuffix(strings.TrimSuffix(selector, menu), "/")
	}
	return fields[0] + "\t" + selector
}

const menu = "gophermap" // the file name of a Gopher menu

// gopherNames returns the names for a Gopher selector. The item type, which is not part of the
// selector, distinguishes menus from documents. It is omitted where the selector repeats it instead
// of a slash. Search words and views become part of the name. The paths of mirrors are a contract,
// so they do not depend on traits of the driver. If distinct is set, the names show whether a slash
// begins the selector.
func gopherNames(u uri.URI, distinct bool) []string {
	g, err := uri.ParseGopher(u)
	if err != nil {
		return treeNames(u, distinct)
	}
	if repeated, ok := strings.CutPrefix(g.Selector, string([]byte{g.Type})); ok &&
		strings.HasPrefix(repeated, "/") {
		g.Selector = repeated
	}
	var names []string
	for name := range strings.SplitSeq(g.Selector, "/") {
		if name != "" {
			names = append(names, escapeName(name, ""))
		}
	}
	if distinct && g.Selector != "" && g.Selector[0] != '/' {
		names[0] = shorten("%00" + names[0])
	}
	if g.Type == '1' || g.Type == 0 || len(names) == 0 {
		names = append(names, menu)
	} else if last := &names[len(names)-1]; *last == menu {
		*last = "gopherma%70"
	}
	detail := escapeName(g.Search, "")
	if g.Plus != "" && g.Plus != "+" {
		detail += "%09" + escapeName(g.Plus, "")
	}
	if detail != "" {
		names[len(names)-1] = shorten(names[len(names)-1] + "%09" + detail)
	}
	return names
}
