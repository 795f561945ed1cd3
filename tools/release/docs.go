package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A file is a file of an archive or package.
type file struct {
	name string // in the archive, with slashes
	path string // on this machine
	mode os.FileMode
}

// docs holds the documentation files.
type docs struct {
	texts, pages, packed []file // packed holds the compressed man pages for Debian
	completions          map[string]string
	desktop              string // a desktop entry
	changelog            string // for Debian
}

// shells maps shells to the completion files of the program in Debian.
var shells = map[string]string{
	"bash": "usr/share/bash-completion/completions/urlget",
	"zsh":  "usr/share/zsh/vendor-completions/_urlget",
	"fish": "usr/share/fish/vendor_completions.d/urlget.fish",
}

// makeDocs creates the man pages and completions in the folder work.
func makeDocs(ctx context.Context, src source, work string) (docs, error) {
	d := docs{completions: make(map[string]string)}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
		licensesFile} {
		d.texts = append(d.texts, file{path.Base(name), filepath.Join(src.root, name), 0o644})
	}
	linked, err := linkedDocs(src.root) // README.md has links to them
	if err != nil {
		return d, err
	}
	d.texts = append(d.texts, linked...)
	d.changelog = filepath.Join(work, "changelog")
	if err := os.WriteFile(d.changelog, []byte(debianChangelog(src)), 0o666); err != nil {
		return d, err
	}
	if err := pack(d.changelog); err != nil {
		return d, err
	}
	d.desktop = filepath.Join(src.root, "packaging/urlget.desktop")

	man := filepath.Join(work, "man")
	if err := os.Mkdir(man, 0o777); err != nil {
		return d, err
	}
	for _, p := range programs {
		if err := golang(ctx, src, nil, "run", "-tags", "gendoc", "-ldflags", linkerFlags(src), p.dir,
			man); err != nil {
			return d, err
		}
	}
	entries, err := os.ReadDir(man)
	if err != nil {
		return d, err
	}
	for _, e := range entries {
		page := filepath.Join(man, e.Name())
		d.pages = append(d.pages, file{"man/" + e.Name(), page, 0o644})
		if err := pack(page); err != nil {
			return d, err
		}
		d.packed = append(d.packed, file{"usr/share/man/man1/" + e.Name() + ".gz", page + ".gz", 0o644})
	}

	program := filepath.Join(work, "urlget-here")
	if err := golang(ctx, src, nil, "build", "-o", program, "./cmd/urlget"); err != nil {
		return d, err
	}
	for shell := range shells {
		text, err := output(ctx, work, program, "completion", shell)
		if err != nil {
			return d, err
		}
		d.completions[shell] = filepath.Join(work, "completion."+shell)
		if err := os.WriteFile(d.completions[shell], []byte(text+"\n"), 0o666); err != nil {
			return d, err
		}
	}
	return d, nil
}

// linkedDocs returns the files in docs and its pictures.
func linkedDocs(root string) ([]file, error) {
	var files []file
	for _, pattern := range []string{"docs/*.md", "docs/img/*"} {
		names, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			files = append(files, file{path.Dir(pattern) + "/" + filepath.Base(name), name, 0o644})
		}
	}
	return files, nil
}

// pack compresses a file, to name.gz.
func pack(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	w.Write(text)
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(name+".gz", b.Bytes(), 0o666)
}

// archiveFiles returns the other files of an archive. For Windows there are no man pages and no
// completions.
func (d docs) archiveFiles(p platform) []file {
	files := append([]file(nil), d.texts...)
	if p.os == "windows" {
		return files
	}
	files = append(files, d.pages...)
	for shell, where := range shells {
		files = append(files, file{"completions/" + shell + "/" + path.Base(where), d.completions[shell],
			0o644})
	}
	return files
}

// installed returns the other files of a package, by installation path. Debian has its own directory
// for completions of packages.
func (d docs) installed(format string) []file {
	files := append([]file(nil), d.packed...)
	for shell, where := range shells {
		if format != "deb" {
			where = strings.Replace(where, "/vendor-completions/", "/site-functions/", 1)
		}
		files = append(files, file{where, d.completions[shell], 0o644})
	}
	if format == "deb" {
		files = append(files, file{"usr/share/doc/urlget/changelog.gz", d.changelog + ".gz", 0o644})
	}
	files = append(files, file{"usr/share/applications/urlget.desktop", d.desktop, 0o644})
	for _, t := range d.texts {
		name := t.name
		if name == "LICENSE" {
			name = "copyright"
		}
		files = append(files, file{"usr/share/doc/urlget/" + name, t.path, t.mode})
	}
	return files
}
