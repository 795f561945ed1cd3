package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// licensesFile has the licences of the modules in the programs. "urlget version --licenses" prints it.
const licensesFile = "cmd/urlget/licenses.txt"

// licenseNames are the beginnings of the names of files with licences and notices, in capitals.
var licenseNames = []string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS", "UNLICENSE"}

// licenses returns the texts of licensesFile: the licence of Go and those of all modules that the
// programs contain on any platform.
func licenses(ctx context.Context, root string) (string, error) {
	dirs, err := linkedModules(ctx, root)
	if err != nil {
		return "", err
	}
	modules := make(map[string][]string) // by text
	for module, dir := range dirs {
		texts, err := licensesIn(dir)
		if err != nil {
			return "", err
		}
		if len(texts) == 0 {
			return "", fmt.Errorf("%s has no file with a licence", module)
		}
		for _, text := range texts {
			modules[text] = append(modules[text], module)
		}
	}
	var sections []string
	for text, names := range modules {
		slices.Sort(names)
		sections = append(sections, "== "+strings.Join(names, "\n== ")+"\n\n"+text+"\n")
	}
	slices.Sort(sections)
	return "urlget and urlget-queue contain the following modules under these licences.\n\n" +
		strings.Join(sections, "\n"), nil
}

// linkedModules returns the directories of the modules in the programs, and of the standard library.
func linkedModules(ctx context.Context, root string) (map[string]string, error) {
	goroot, err := output(ctx, root, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	work, err := filepath.Abs(filepath.Join(root, "go.work")) // has the modules of both programs
	if err != nil {
		return nil, err
	}
	dirs := map[string]string{"the Go standard library": goroot}
	systems := make(map[string]bool)
	for _, p := range platforms {
		if systems[p.os] {
			continue
		}
		systems[p.os] = true
		list, err := output(ctx, root, "env", "GOWORK="+work, "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch,
			"go", "list", "-deps", "-f", "{{with .Module}}{{if not "+
				".Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}", "./cmd/...", "./queue/cmd/...")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(list) {
			if module, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				dirs[module] = dir
			}
		}
	}
	return dirs, nil
}

// licensesIn returns the texts of the licences in a directory.
func licensesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		if e.IsDir() || !slices.ContainsFunc(licenseNames,
			func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	return texts, nil
}

// writeLicenses writes licensesFile.
func writeLicenses(ctx context.Context, root string) error {
	text, err := licenses(ctx, root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, licensesFile), []byte(text), 0o666)
}
