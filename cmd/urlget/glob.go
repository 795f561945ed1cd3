package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/flags"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/download"
	"github.com/urlget/urlget/fetch/job"
	"github.com/urlget/urlget/fetch/uri"
)

const maxGlob = 100_000

const (
	rangePattern = `\[(?:(\d+)-(\d+)|([a-zA-Z])-([a-zA-Z]))(?::(\d+))?\]`
	wordsPattern = `\{([^{}\s]*,[^{}\s]*)\}`
)

var (
	globRange  = lazyRegexp(rangePattern)
	globWords  = lazyRegexp(wordsPattern)
	globEither = lazyRegexp(rangePattern + "|" + wordsPattern)
	globName   = lazyRegexp(`#[1-9]`)
)

func lazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// A globbed is a URL that --glob-ranges made, with the text for each range in it.
type globbed struct {
	url   string
	texts []string
}

// glob expands the ranges and alternatives in the arguments if that is enabled, and rejects them in
// paths otherwise. If -O has a reference such as #1, outputs are the names of the files.
func glob(o *flags.Options, args []string) (expanded, outputs []string, err error) {
	document := o.Output.Document
	named := strings.Contains(document, "#") && globName().MatchString(document)
	if !o.Many.GlobRanges {
		for _, arg := range args {
			if found := unglobbed(arg); found != "" {
				return nil, nil, failure.Hinted(fetch.Printable(found)+" in a URL is not expanded",
					"use --glob-ranges to expand it as curl does, or %5B, %5D, %7B and %7D for the "+
						"characters themselves")
			}
		}
		return args, nil, nil
	}
	for _, arg := range args {
		urls, err := expand(arg)
		if err != nil {
			return nil, nil, err
		}
		if len(expanded)+len(urls) > maxGlob {
			return nil, nil, failure.Usagef("--glob-ranges: more than %d URLs", maxGlob)
		}
		for _, u := range urls {
			expanded = append(expanded, u.url)
			if named {
				outputs = append(outputs, u.name(document))
			}
		}
	}
	return expanded, outputs, nil
}

func (g globbed) name(document string) string {
	return globName().ReplaceAllStringFunc(document, func(ref string) string {
		if i := int(ref[1] - '1'); i < len(g.texts) {
			return g.texts[i]
		}
		return ref
	})
}

// nameGlobbed sets the output of the job for an argument that glob named. It replaces an existing
// file, as -O does.
func nameGlobbed(j *job.Job, output string) error {
	if output == "" {
		return nil
	}
	j.Output = "./" + output
	if j.Exists == download.NewName {
		j.Exists = download.Overwrite
	}
	if err := j.Validate(); err != nil {
		return failure.Usagef("-O: %v", err)
	}
	return nil
}

// unglobbed returns the first range or list of alternatives in the path of a URL, or "".
func unglobbed(arg string) string {
	path, _, _ := strings.Cut(arg, "?")
	if !strings.ContainsAny(path, "[{") { // spares most programs the regular expressions
		return ""
	}
	if found := globWords().FindString(path); found != "" {
		return found
	}
	u, err := uri.ParseLoose(path)
	if err == nil && flags.HasBracketPatterns(u.Scheme()) {
		return ""
	}
	return globRange().FindString(path)
}

func expand(arg string) ([]globbed, error) {
	all := []globbed{{}}
	for {
		at := globEither().FindStringIndex(arg)
		if at == nil {
			break
		}
		words, err := alternatives(arg[at[0]:at[1]])
		if err != nil {
			return nil, err
		}
		if len(all)*len(words) > maxGlob {
			return nil, failure.Usagef("--glob-ranges: more than %d URLs", maxGlob)
		}
		next := make([]globbed, 0, len(all)*len(words))
		for _, g := range all {
			for _, word := range words {
				next = append(next,
					globbed{g.url + arg[:at[0]] + word, append(g.texts[:len(g.texts):len(g.texts)], word)})
			}
		}
		all, arg = next, arg[at[1]:]
	}
	for i := range all {
		all[i].url += arg
	}
	return all, nil
}

func alternatives(text string) ([]string, error) {
	if m := globWords().FindStringSubmatch(text); m != nil {
		return strings.Split(m[1], ","), nil
	}
	m := globRange().FindStringSubmatch(text)
	step := 1
	var err error
	if m[5] != "" {
		if step, err = strconv.Atoi(m[5]); err != nil || step == 0 {
			return nil, failure.Usagef("--glob-ranges: %s: the step must be 1 or more", text)
		}
	}
	first, last, format := 0, 0, "%c"
	if m[1] == "" {
		first, last = int(m[3][0]), int(m[4][0])
	} else {
		format = "%d"
		if len(m[1]) > 1 && m[1][0] == '0' {
			format = "%0" + strconv.Itoa(len(m[1])) + "d"
		}
		first, err = strconv.Atoi(m[1])
		if err == nil {
			last, err = strconv.Atoi(m[2])
		}
	}
	if err != nil || last < first || (last-first)/step >= maxGlob {
		return nil, failure.Usagef("--glob-ranges: %s is not a range of at most %d", text, maxGlob)
	}
	var words []string
	for n := first; n <= last; n += step {
		words = append(words, fmt.Sprintf(format, n))
	}
	return words, nil
}
