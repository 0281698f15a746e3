/* The plug-in consists of libraries; a module needs a source of its own. */
