package driver

import (
	"reflect"
	"strings"

	"github.com/urlget/urlget/fetch"
)

// FactsOf returns the facts of a struct: one for each field with a tag that names it, such as
// `fact:"mode"`. A fact whose tag is `fact:"mode,optional"` is optional. Integers become int64 or uint64,
// and a nil pointer becomes a nil Value.
func FactsOf(driver, word string, record any) fetch.Facts {
	v := reflect.ValueOf(record)
	facts := fetch.Facts{Driver: driver, Word: word, List: make([]fetch.Fact, 0, v.NumField())}
	for field, value := range v.Fields() {
		if name, option, _ := strings.Cut(field.Tag.Get("fact"), ","); name != "" {
			facts.List = append(facts.List,
				fetch.Fact{Name: name, Value: factValue(value), Optional: option == "optional"})
		}
	}
	return facts
}

func factValue(v reflect.Value) any {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return nil
	case v.Kind() == reflect.Pointer:
		return factValue(v.Elem())
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case v.Kind() == reflect.String:
		return v.String()
	}
	return v.Interface()
}
