package mcptools

import (
	"strings"
	"sync"
)

// A document is the content of a URL, kept so that all pieces of a text are of the same version.
type document struct {
	source
	title, text string
	notice      string
	content     []byte
	sum         string // SHA-256 of content, in hexadecimal
	isText      bool
}

// documentKey identifies a document: the URL as given, and whether its text is the source.
type documentKey struct {
	url      string
	asSource bool
}

// maxKept limits the content of the kept documents, in bytes.
const maxKept = 4 * MaxContent

type documents struct {
	mu   sync.Mutex
	list []keptDocument // latest last
	size int
}

type keptDocument struct {
	key documentKey
	*document
}

func (d *documents) get(key documentKey) *document {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, kept := range d.list {
		if kept.key == key {
			return kept.document
		}
	}
	return nil
}

func (d *documents) put(key documentKey, doc *document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := d.list[:0:0]
	for _, old := range d.list {
		if old.key != key {
			kept = append(kept, old)
		}
	}
	d.list = append(kept, keptDocument{key, doc})
	d.size = 0
	for _, kept := range d.list {
		d.size += len(kept.content) + len(kept.text)
	}
	for d.size > maxKept && len(d.list) > 1 {
		d.size -= len(d.list[0].content) + len(d.list[0].text)
		d.list = d.list[1:]
	}
}

// squeeze removes the blanks at the ends of lines, and all but one of several empty lines.
func squeeze(text string) string {
	var b strings.Builder
	empty := 0
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line == "" {
			empty++
			continue
		}
		if empty > 0 && b.Len() > 0 {
			b.WriteByte('\n')
		}
		empty = 0
		b.WriteString(line + "\n")
	}
	return b.String()
}
