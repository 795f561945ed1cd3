package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A packageConfig is the configuration of nfpm. Its format is YAML, which includes JSON.
type packageConfig struct {
	Name            string         `json:"name"`
	Arch            string         `json:"arch"`
	Platform        string         `json:"platform"`
	Version         string         `json:"version"`
	Section         string         `json:"section"`
	Priority        string         `json:"priority"`
	Maintainer      string         `json:"maintainer"`
	Description     string         `json:"description"`
	Homepage        string         `json:"homepage"`
	License         string         `json:"license"`
	Recommends      []string       `json:"recommends"`
	Suggests        []string       `json:"suggests"`
	DisableGlobbing bool           `json:"disable_globbing"`
	MTime           time.Time      `json:"mtime"`
	Contents        []packagedFile `json:"contents"`
}

type packagedFile struct {
	Src      string     `json:"src"`
	Dst      string     `json:"dst"`
	FileInfo ownedSince `json:"file_info"`
}

type ownedSince struct {
	Owner string      `json:"owner"`
	Group string      `json:"group"`
	Mode  os.FileMode `json:"mode"`
	MTime time.Time   `json:"mtime"`
}

// maintainer has an address that no mail reaches (RFC 6761, section 6.4), because the field must have one.
const maintainer = "The urlget maintainers <maintainers@urlget.invalid>"

// describePackage returns the package of that format for a platform, with these files. The program is
// static, so it depends on nothing; it takes certificate authorities from the system.
func describePackage(src source, p platform, format string, files []file) packageConfig {
	c := packageConfig{
		Name:       "urlget",
		Arch:       p.arch,
		Platform:   p.os,
		Version:    src.version,
		Section:    "net",
		Priority:   "optional",
		Maintainer: maintainer,
		Description: "retrieves URLs of any scheme\n" +
			"urlget is a command like wget and curl that also retrieves ftp, gopher, gemini,\n" +
			"news, sftp, smb, imap, wais and more than 30 other URL schemes.",
		Homepage:        "https://github.com/urlget/urlget",
		License:         "MIT",
		Recommends:      []string{"ca-certificates"},
		Suggests:        []string{"bash-completion"},
		DisableGlobbing: true,
		MTime:           src.date,
	}
	switch format {
	case "deb":
		c.License = "" // no field of binary packages; the file copyright has it
	case "apk":
		c.Description, _, _ = strings.Cut(c.Description, "\n") // a field is one line
	}
	for _, f := range files {
		c.Contents = append(c.Contents,
			packagedFile{f.path, "/" + f.name, ownedSince{"root", "root", f.mode, src.date}})
	}
	slices.SortFunc(c.Contents, func(a, b packagedFile) int { return strings.Compare(a.Dst, b.Dst) })
	return c
}

// debianChangelog returns the changelog that Debian requires, which refers to that of urlget.
func debianChangelog(src source) string {
	return fmt.Sprintf("urlget (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md in /usr/share/doc/urlget.\n\n"+
		" -- %s  %s\n", strings.TrimPrefix(src.version, "v"), maintainer, src.date.Format(time.RFC1123Z))
}

// writePackage writes a package of that format into dir. Its name is the usual one for the format.
func writePackage(ctx context.Context, src source, p platform, format string, files []file, work,
	dir string) error {
	text, err := json.MarshalIndent(describePackage(src, p, format, files), "", "\t")
	if err != nil {
		return err
	}
	config := filepath.Join(work, p.String()+"."+format+".yaml")
	if err := os.WriteFile(config, text, 0o666); err != nil {
		return err
	}
	log.Printf("package for %s (%s)", p, format)
	return golang(ctx, src, alone, "tool", "-modfile=tools.mod", "nfpm", "package", "--config", config,
		"--packager", format, "--target", dir)
}
