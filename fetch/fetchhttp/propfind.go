package fetchhttp

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/urlget/urlget/fetch"
)

const (
	// maxPropfind limits the body of a PROPFIND, in bytes, and maxProperties the properties in it. The
	// response has all of them for each member.
	maxPropfind, maxProperties = 16 << 10, 100
	// finiteDepth refuses Depth: infinity (RFC 4918, section 9.1).
	finiteDepth = `<?xml version="1.0"?>
<D:error xmlns:D="DAV:"><D:propfind-finite-depth/></D:error>
`
)

func (h *davHandler) propfind(w http.ResponseWriter, r *http.Request, name string) {
	depth := strings.ToLower(r.Header.Get("Depth"))
	switch depth {
	case "0", "1":
	case "", "infinity":
		w.Header().Set("Content-Type", "application/xml; charset=utf-8")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, finiteDepth)
		return
	default:
		http.Error(w, "Depth must be 0 or 1", http.StatusBadRequest)
		return
	}
	ask, err := readPropfind(http.MaxBytesReader(w, r.Body, maxPropfind))
	if err != nil {
		status := http.StatusBadRequest
		if errors.As(err, new(*http.MaxBytesError)) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, fetch.Printable(err.Error()), status)
		return
	}
	info, err := fs.Stat(h.fsys, name)
	if err == nil {
		err = checkSlash(r, info)
	}
	var members []fs.FileInfo
	if err == nil && info.IsDir() && depth == "1" {
		members, err = davMembers(h.fsys, name)
	}
	if err != nil {
		http.Error(w, fetch.Printable(err.Error()), davStatus(err))
		return
	}
	w.Header().Set("Content-Type", "application/xml; charset=utf-8")
	w.WriteHeader(http.StatusMultiStatus)
	out := bufio.NewWriter(w)
	defer out.Flush()
	m := &multistatus{out, ask}
	m.begin()
	ref := h.prefix + "/"
	if name != "." {
		ref += pathRef(name)
	}
	if info.IsDir() && !strings.HasSuffix(ref, "/") {
		ref += "/"
	}
	m.response(ref, info)
	for _, member := range members {
		below := ref + pathRef(member.Name())
		if member.IsDir() {
			below += "/"
		}
		m.response(below, member)
	}
	io.WriteString(out, "</D:multistatus>\n")
}

// pathRef returns a path with slashes as part of a URL.
func pathRef(name string) string {
	elements := strings.Split(name, "/")
	for i, e := range elements {
		elements[i] = url.PathEscape(e)
	}
	return strings.Join(elements, "/")
}

// A propfind is the body of a request (RFC 4918, section 14.20).
type propfind struct {
	all, namesOnly bool
	names          []xml.Name // of prop, or of include
}

const davSpace = "DAV:"

var errPropfind = errors.New("the body is not that of a PROPFIND")

// readPropfind reads the body of a request. An empty one asks for all properties.
func readPropfind(body io.Reader) (*propfind, error) {
	d := xml.NewDecoder(body)
	root, err := nextElement(d)
	if err == io.EOF && d.InputOffset() == 0 {
		return &propfind{all: true}, nil
	}
	if err != nil {
		return nil, unexpected(err)
	}
	if root == nil || root.Name != (xml.Name{Space: davSpace, Local: "propfind"}) {
		return nil, errPropfind
	}
	ask := &propfind{}
	kinds := make(map[string]bool)
	for {
		e, err := nextElement(d)
		if err != nil {
			return nil, unexpected(err)
		}
		if e == nil {
			break
		}
		if e.Name.Space == davSpace {
			switch kinds[e.Name.Local] = true; e.Name.Local {
			case "prop", "include":
				if err := ask.read(d); err != nil {
					return nil, err
				}
				continue
			}
		}
		if err := d.Skip(); err != nil {
			return nil, unexpected(err)
		}
	}
	ask.all, ask.namesOnly = kinds["allprop"], kinds["propname"]
	chosen := 0
	for _, kind := range []string{"allprop", "propname", "prop"} {
		if kinds[kind] {
			chosen++
		}
	}
	if _, err := nextElement(d); err != io.EOF || chosen != 1 || kinds["include"] && !ask.all {
		return nil, errPropfind
	}
	return ask, nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// read reads the names of the properties in an element, until its end.
func (p *propfind) read(d *xml.Decoder) error {
	for {
		e, err := nextElement(d)
		if err != nil {
			return unexpected(err)
		}
		if e == nil {
			return nil
		}
		// encoding/xml passes an undeclared prefix as a namespace. Those of properties are absolute URIs.
		isName := e.Name.Space == "" || strings.Contains(e.Name.Space, ":")
		if !isName || strings.Contains(e.Name.Local, ":") {
			return errPropfind
		}
		if !slices.Contains(p.names, e.Name) {
			p.names = append(p.names, e.Name)
		}
		if len(p.names) > maxProperties {
			return fmt.Errorf("more than %d properties", maxProperties)
		}
		if err := d.Skip(); err != nil {
			return unexpected(err)
		}
	}
}

// nextElement returns the next start tag, or nil at the end tag of the element around it. It refuses
// document types, which could define entities.
func nextElement(d *xml.Decoder) (*xml.StartElement, error) {
	for {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			for _, a := range t.Attr {
				if a.Name.Space == "xmlns" && a.Value == "" {
					return nil, errPropfind // a prefix must have a namespace (XML Namespaces 1.0, section 5)
				}
			}
			return &t, nil
		case xml.EndElement:
			return nil, nil
		case xml.Directive:
			return nil, errPropfind
		}
	}
}

// davProperties are those that the tree has, in order (RFC 4918, section 15). The others are unknown: there
// are no locks. The value is XML; ok is false if the resource does not have the property.
var davProperties = []struct {
	name  string
	value func(fs.FileInfo) (value string, ok bool)
}{
	{"resourcetype", func(i fs.FileInfo) (string, bool) {
		if i.IsDir() {
			return "<D:collection/>", true
		}
		return "", true
	}},
	{"displayname", func(i fs.FileInfo) (string, bool) {
		if i.Name() == "." {
			return "", true
		}
		return escapedXML(i.Name()), true
	}},
	{"getcontentlength", func(i fs.FileInfo) (string, bool) {
		return fmt.Sprint(i.Size()), !i.IsDir() && i.Size() >= 0
	}},
	{"getlastmodified", func(i fs.FileInfo) (string, bool) {
		t := i.ModTime()
		if t.IsZero() {
			t = time.Unix(0, 0) // the first time that clients accept
		}
		return t.UTC().Format(http.TimeFormat), true
	}},
	{"getcontenttype", func(i fs.FileInfo) (string, bool) { return escapedXML(typeOf(i)), !i.IsDir() }},
	{"getetag", func(i fs.FileInfo) (string, bool) {
		return escapedXML(tagOf(i)), !i.IsDir() && tagOf(i) != ""
	}},
}

func escapedXML(text string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(text)) // which replaces what XML cannot have
	return b.String()
}

// A multistatus writes a response (RFC 4918, section 13). Namespaces are declared once.
type multistatus struct {
	*bufio.Writer
	ask *propfind
}

func (m *multistatus) begin() {
	m.WriteString(`<?xml version="1.0" encoding="utf-8"?>` + "\n" + `<D:multistatus xmlns:D="DAV:"`)
	for i, name := range m.ask.names {
		if name.Space != "" && name.Space != davSpace && i == m.first(name.Space) {
			fmt.Fprintf(m, ` xmlns:n%d="%s"`, i, escapedXML(name.Space))
		}
	}
	m.WriteString(">\n")
}

// first returns the first name in a namespace, whose number is part of the prefix.
func (m *multistatus) first(space string) int {
	return slices.IndexFunc(m.ask.names, func(n xml.Name) bool { return n.Space == space })
}

func (m *multistatus) tag(name xml.Name) string {
	switch name.Space {
	case "":
		return name.Local
	case davSpace:
		return "D:" + name.Local
	}
	return fmt.Sprintf("n%d:%s", m.first(name.Space), name.Local)
}

func (m *multistatus) response(ref string, info fs.FileInfo) {
	var found, missing strings.Builder
	left := m.ask.names
	for _, p := range davProperties {
		name := xml.Name{Space: davSpace, Local: p.name}
		if !m.ask.all && !m.ask.namesOnly && !slices.Contains(m.ask.names, name) {
			continue
		}
		value, ok := p.value(info)
		if !ok {
			continue
		}
		left = slices.DeleteFunc(slices.Clone(left), func(n xml.Name) bool { return n == name })
		if m.ask.namesOnly {
			value = ""
		}
		fmt.Fprintf(&found, "<D:%s>%s</D:%[1]s>", p.name, value)
	}
	for _, name := range left {
		fmt.Fprintf(&missing, "<%s/>", m.tag(name))
	}
	fmt.Fprintf(m, "<D:response><D:href>%s</D:href>", escapedXML(ref))
	if found.Len() > 0 || missing.Len() == 0 {
		m.propstat(found.String(), "200 OK")
	}
	if missing.Len() > 0 {
		m.propstat(missing.String(), "404 Not Found")
	}
	m.WriteString("</D:response>\n")
}

func (m *multistatus) propstat(properties, status string) {
	fmt.Fprintf(m, "<D:propstat><D:prop>%s</D:prop><D:status>HTTP/1.1 %s</D:status></D:propstat>",
		properties, status)
}
