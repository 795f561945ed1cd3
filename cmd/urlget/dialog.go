package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/urlget/urlget/cmd/urlget/internal/failure"
	"github.com/urlget/urlget/cmd/urlget/internal/session"
	"github.com/urlget/urlget/cmd/urlget/internal/tty"
	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/job"
)

// A dialog is with the user at the terminal.
type dialog struct {
	tty.Prompt
	con   *tty.Console
	input *session.Input
	mu    sync.Mutex // held while prompting for a form or while a session is attached
}

// fillIn prompts the user to fill in a form, if err has one and there is a terminal. It reports
// whether j should be retried.
func (d *dialog) fillIn(ctx context.Context, j *job.Job, err error) bool {
	formErr, is := errors.AsType[*fetch.FormError](err)
	if !is || !d.Possible() {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	form := make(map[string][]string)
	filled := false
	d.con.Write([]byte(fetch.Printable(formErr.Form.Title) + "\n"))
	for _, field := range formErr.Form.Fields {
		if field.Kind == fetch.FieldNote {
			d.con.Write([]byte(fetch.Printable(field.Name) + "\n"))
			continue
		}
		if preset, ok := j.Form[field.Name]; ok {
			form[field.Name] = preset
			continue
		}
		answer, err := d.askField(ctx, field)
		if err != nil {
			return false
		}
		form[field.Name], filled = answer, true
	}
	j.Form = form
	return filled
}

func (d *dialog) askPassphrase(ctx context.Context, file string) (string, error) {
	return d.Ask(ctx, "Passphrase of "+fetch.Printable(file)+": ", true)
}

var fieldNotes = map[fetch.FieldKind]string{
	fetch.FieldYesNo:  " (yes or no)",
	fetch.FieldLines:  " (several lines, ended by a single dot)",
	fetch.FieldFile:   " (name of a file to send)",
	fetch.FieldSaveAs: " (name of a file to save to)",
}

func (d *dialog) askField(ctx context.Context, f fetch.Field) ([]string, error) {
	question := fetch.Printable(f.Name) + fieldNotes[f.Kind]
	if f.Kind == fetch.FieldChoice {
		question += " (" + fetch.Printable(strings.Join(f.Choices, ", ")) + ")"
	}
	if len(f.Default) > 0 && f.Kind != fetch.FieldSecret {
		question += " [" + fetch.Printable(strings.Join(f.Default, ", ")) + "]"
	}
	for {
		text, err := d.Ask(ctx, question+": ", f.Kind == fetch.FieldSecret)
		if err != nil {
			return nil, err
		}
		if text == "" && f.Default != nil {
			return f.Default, nil
		}
		switch f.Kind {
		case fetch.FieldLines:
			return d.askLines(ctx, text)
		case fetch.FieldFile:
			content, err := os.ReadFile(text)
			if err == nil {
				return []string{string(content)}, nil
			}
			printError(d.con, d.con.Paint, "", "", failure.File(err))
		case fetch.FieldYesNo:
			if text = yesNo(text); text != "" {
				return []string{text}, nil
			}
		case fetch.FieldChoice:
			if choice := chosen(f.Choices, text); choice != "" {
				return []string{choice}, nil
			}
		default:
			return []string{text}, nil
		}
	}
}

func (d *dialog) askLines(ctx context.Context, text string) ([]string, error) {
	var lines []string
	for text != "." {
		lines = append(lines, text)
		var err error
		if text, err = d.Ask(ctx, "", false); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

func yesNo(text string) string {
	for _, word := range []string{"yes", "no"} {
		if text != "" && strings.HasPrefix(word, strings.ToLower(text)) {
			return word
		}
	}
	return ""
}

// chosen returns the choice selected by text, which is the choice or its number, or "".
func chosen(choices []string, text string) string {
	for i, c := range choices {
		if strings.EqualFold(c, text) || text == strconv.Itoa(i+1) {
			return c
		}
	}
	return ""
}
