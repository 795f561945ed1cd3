package mcptools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// A tool is a function for the client, as tools/list describes it.
type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema schema `json:"inputSchema"`
	Annotations struct {
		ReadOnly   bool `json:"readOnlyHint"`
		Idempotent bool `json:"idempotentHint"`
	} `json:"annotations"`
	call func(context.Context, json.RawMessage) *result
}

// A schema is the JSON schema of the arguments of a tool.
type schema struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
	Additional bool                `json:"additionalProperties"`
}

type property struct {
	Type        string `json:"type"`
	Description string `json:"description"`
}

// A result is the result of a call. Parts are texts and resources.
type result struct {
	Parts   []any `json:"content"`
	IsError bool  `json:"isError,omitempty"`
}

type textPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type resourcePart struct {
	Type     string   `json:"type"`
	Resource resource `json:"resource"`
}

type resource struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Blob     []byte `json:"blob"`
}

// newTool returns a tool. An error of its function is a result that the model sees, and so is a mistake
// in the arguments.
func newTool[In input](
	t *tools, name, description string, f func(context.Context, In) (*result, error),
) tool {
	described := tool{Name: name, Description: description, InputSchema: schemaOf(reflect.TypeFor[In]())}
	described.Annotations.ReadOnly, described.Annotations.Idempotent = true, true
	described.call = func(ctx context.Context, arguments json.RawMessage) *result {
		var in In
		if err := described.InputSchema.decode(arguments, &in); err != nil {
			r := texts(failure{Class: "arguments", Message: fetch.Printable(err.Error())})
			r.IsError = true
			return r
		}
		ctx, cancel := t.limit(ctx)
		defer cancel()
		free, err := t.slots.take(ctx, in.host())
		if err != nil {
			return failed(err)
		}
		defer free()
		r, err := f(ctx, in)
		if err != nil {
			return failed(err)
		}
		return r
	}
	return described
}

// schemaOf describes a structure. Its fields have names in JSON and, in the tag doc, descriptions.
// Those with omitempty are optional.
func schemaOf(in reflect.Type) schema {
	s := schema{Type: "object", Properties: make(map[string]property)}
	for i := range in.NumField() {
		f := in.Field(i)
		name, optional, _ := strings.Cut(f.Tag.Get("json"), ",")
		if optional == "" {
			s.Required = append(s.Required, name)
		}
		kind := map[reflect.Kind]string{
			reflect.String: "string", reflect.Int: "integer", reflect.Bool: "boolean"}[f.Type.Kind()]
		s.Properties[name] = property{kind, f.Tag.Get("doc")}
	}
	return s
}

// decode reads the arguments of a call, which must be as the schema says.
func (s schema) decode(arguments json.RawMessage, in any) error {
	given := make(map[string]json.RawMessage)
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &given); err != nil {
			return errors.New("the arguments are not an object")
		}
	}
	for name, value := range given {
		p, ok := s.Properties[name]
		if !ok {
			return fmt.Errorf("there is no argument %q", name)
		}
		if bytes.Equal(value, []byte("null")) {
			return fmt.Errorf("the argument %s is not of the type %s", name, p.Type)
		}
	}
	for _, name := range s.Required {
		if _, ok := given[name]; !ok {
			return fmt.Errorf("the argument %s is missing", name)
		}
	}
	err := json.Unmarshal(arguments, in)
	if e := (*json.UnmarshalTypeError)(nil); errors.As(err, &e) {
		return fmt.Errorf("the argument %s is not of the type %s", e.Field, s.Properties[e.Field].Type)
	}
	return err
}
