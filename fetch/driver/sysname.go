package driver

import (
	"path"
	"reflect"
	"strings"
)

// SysName returns the name under which programs show Sys: that of the package that it is of, or of
// the driver's that it belongs to, such as "nntp". It is empty if there is none. What a driver did
// not make itself, such as the record of an archive, has a method SysName that says it.
func (e Entry) SysName() string {
	if e.Sys == nil {
		return ""
	}
	if named, ok := e.Sys.(interface{ SysName() string }); ok {
		return named.SysName()
	}
	t := reflect.TypeOf(e.Sys)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	pkg := t.PkgPath()
	if _, below, ok := strings.Cut(pkg, "/protocols/"); ok {
		name, _, _ := strings.Cut(below, "/")
		return name
	}
	if pkg == "" {
		return ""
	}
	return path.Base(pkg)
}
