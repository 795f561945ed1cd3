package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// source is where files of the tree that are not pages can be read.
const source = "https://github.com/urlget/urlget/blob/main/"

//go:embed page.html
var layout string

var page = template.Must(template.New("page").Parse(layout))

// own is the style that pages have in addition to that of urlget serve.
const own = `
header { position: static; }
header nav:not([popover]) { flex-wrap: wrap; gap: .25rem .75rem; }
.body { display: grid; grid-template-columns: minmax(0, 1fr) minmax(14rem, 20rem); }
main { width: auto; max-width: 52rem; margin: 0; }
aside { padding: var(--s5) var(--s4); font-size: .875rem; overflow-wrap: anywhere; }
aside h2 { font-size: 1rem; margin: 0 0 .5rem; }
pre { overflow-x: auto; background: var(--panel); padding: .5rem .75rem; border-radius: var(--radius); }
pre code { padding: 0; background: none; }
main table { border-collapse: collapse; display: block; overflow-x: auto; }
main td, main th { text-align: left; vertical-align: top; padding: .15rem .75rem .15rem 0; border-bottom: 1px solid var(--line); }
main img { max-width: 100%; height: auto; }
@media (max-width: 50rem) { .body { display: block; } }
`

// A document is a file that becomes a page.
type document struct {
	file string // below the root of the tree
	page string
}

// documents returns the documents of a tree: the README first, which is the home page.
func documents(root string) ([]document, error) {
	list := []document{{"README.md", "index.html"}}
	for _, file := range []string{"CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} {
		list = append(list, document{file, strings.ToLower(strings.TrimSuffix(file, ".md")) + ".html"})
	}
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	for _, file := range files {
		base := filepath.Base(file)
		name := strings.TrimSuffix(base, ".md")
		if name == "README" {
			name = "docs"
		}
		list = append(list, document{"docs/" + base, name + ".html"})
	}
	return list, err
}

// write writes the pages of the tree at root to a directory.
func write(root, dir string) error {
	docs, err := documents(root)
	if err != nil {
		return err
	}
	pages := make(map[string]string)
	for _, d := range docs {
		pages[d.file] = d.page
	}
	index := make(terms)
	for _, d := range docs {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(d.file)))
		if err != nil {
			return err
		}
		c := &converter{from: d, pages: pages, index: index}
		content := c.convert(text)
		if err := save(dir, d.page,
			view{Title: c.title, Content: content, Sections: c.sections}); err != nil {
			return err
		}
	}
	if err := save(dir, "terms.html",
		view{Title: "Sections, flags and names", Content: index.html()}); err != nil {
		return err
	}
	if err := writeStyle(root, dir); err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(dir, "img"), os.DirFS(filepath.Join(root, "docs", "img")))
}

// writeStyle writes the style of urlget serve, without its icons.
func writeStyle(root, dir string) error {
	text, err := os.ReadFile(filepath.Join(root, "serve", "static", "app.css"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "style.css"), append(text, own...), 0o666)
}

// A view is what the layout shows.
type view struct {
	Title    string
	Content  template.HTML
	Sections []section
}

// A section is a heading of a page.
type section struct{ ID, Name string }

func save(dir, name string, v view) error {
	var out bytes.Buffer
	if err := page.Execute(&out, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(dir, name), out.Bytes(), 0o666)
}

// resolve returns the address on the site for a link in a document.
func (c *converter) resolve(link string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "#") || strings.HasPrefix(link, "mailto:") {
		return link
	}
	file, fragment, _ := strings.Cut(link, "#")
	target := path.Join(path.Dir(c.from.file), file)
	if fragment != "" {
		fragment = "#" + fragment
	}
	if name, ok := c.pages[target]; ok {
		return name + fragment
	}
	if image, ok := strings.CutPrefix(target, "docs/img/"); ok {
		return "img/" + image
	}
	return source + target + fragment
}
